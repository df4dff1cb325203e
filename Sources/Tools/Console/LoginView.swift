internal import Glibc
internal import System

/// Displays a login: the URL to open, the code to enter, and the remaining time.
package final class LoginView {
  private let credential: String
  private let opensBrowser: Bool
  private let terminal: Terminal
  /// Whether the terminal can overwrite a line.
  private let isLive = isatty(STDOUT_FILENO) == 1 && ProcessEnvironment.value("TERM") != "dumb"
  private var received: [String: String] = [:]
  private var isIntroduced = false
  private var isWaiting = false
  private var displayedMinutes: Int?

  package init(_ credential: String, opensBrowser: Bool, terminal: Terminal) {
    (self.credential, self.opensBrowser, self.terminal) = (credential.harmless, opensBrowser, terminal)
  }

  /// Displays a progress line from the daemon, such as `left 60` for the remaining seconds.
  package func receive(_ line: String) {
    let parts = line.split(separator: " ", maxSplits: 1).map(String.init)
    guard parts.count == 2 else { return }
    switch parts[0] {
    case "open", "code", "complete": received[parts[0]] = parts[1]
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
    guard !isIntroduced, let url = received["open"] else { return }
    isIntroduced = true
    guard let code = received["code"] else {
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
    if let complete = received["complete"] { say("This URL already contains the code: \(complete)\n\n") }
  }

  private func wait(_ seconds: Int) {
    let time = seconds < 60 ? "\(seconds) s" : "\(seconds / 60) min \(seconds % 60) s"
    if isLive {
      say("\r\u{1B}[Kwaiting for you … \(time) left ")
    } else if displayedMinutes != seconds / 60 {
      say("waiting: \(time) left\n")
    }
    displayedMinutes = seconds / 60
    isWaiting = true
  }

  private func say(_ text: String) { StandardOutput.print(text) }
}
