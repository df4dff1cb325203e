internal import Glibc
internal import System

/// The view that a person has of a login: what to open, what to enter, and how long there is time.
package final class LoginView {
  private let credential: String
  private let opensBrowser: Bool
  private let terminal: Terminal
  /// Lines that are written over.
  private let isLive = isatty(STDOUT_FILENO) == 1 && ProcessEnvironment.value("TERM") != "dumb"
  private var told: [String: String] = [:]
  private var isIntroduced = false
  private var isWaiting = false
  private var minutesTold: Int?

  package init(_ credential: String, opensBrowser: Bool, terminal: Terminal) {
    (self.credential, self.opensBrowser, self.terminal) = (credential.harmless, opensBrowser, terminal)
  }

  /// One line of progress: a word and what there is to say.
  package func hear(_ line: String) {
    let parts = line.split(separator: " ", maxSplits: 1).map(String.init)
    guard parts.count == 2 else { return }
    switch parts[0] {
    case "open", "code", "complete": told[parts[0]] = parts[1]
    case "left":
      introduce()
      if let seconds = Int(parts[1]) { wait(seconds) }
    case "note":
      endWaiting()
      say("\(terminal.dim(parts[1]))\n")
    default: break
    }
  }

  package func endWaiting() {
    guard isWaiting else { return }
    isWaiting = false
    if isLive { say("\r\u{1B}[K") }
  }

  private func introduce() {
    guard !isIntroduced, let url = told["open"] else { return }
    isIntroduced = true
    guard let code = told["code"] else {
      let isOpened = opensBrowser && Browser.open(url)
      return say(
        """
        To log in to \(terminal.bold(credential)), \(isOpened ? "use the page that opens in your browser" : "open in a browser on this machine"):

            \(url)


        """)
    }
    say(
      """
      To log in to \(terminal.bold(credential)), open on any device:

          \(url)

      and enter the code:

          \(terminal.bold(code))


      """)
    if let complete = told["complete"] { say("This URL already contains the code: \(complete)\n\n") }
  }

  /// Each second where it can be written over; else a line for each minute.
  private func wait(_ seconds: Int) {
    let time = seconds < 60 ? "\(seconds) s" : "\(seconds / 60) min \(seconds % 60) s"
    if isLive {
      say("\r\u{1B}[Kwaiting for you … \(time) left ")
    } else if minutesTold != seconds / 60 {
      say("waiting: \(time) left\n")
    }
    minutesTold = seconds / 60
    isWaiting = true
  }

  private func say(_ text: String) { StandardOutput.print(text) }
}
