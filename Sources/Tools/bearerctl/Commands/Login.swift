internal import Console
internal import ArgumentParser
internal import System

/// `bearerctl login`
struct Login: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Log in to an account whose tokens bearerd then keeps and renews.",
    usage: "bearerctl login CREDENTIAL [--no-browser] [--control PATH | --config FILE]",
    discussion: """
      For credentials whose oauth2 has grant device_code or authorization_code. The running daemon talks to the \
      authorization server, takes the tokens and keeps them; this shows what to open, and a code to enter there, \
      and waits. No token comes by here.

        bearerctl login mail

      The page opens in a browser by itself if this machine has a display, and the login is one by browser. Ctrl-C \
      ends the login. Who logs in while another does joins that login.

      Exits with 0 if somebody is logged in, with 1 if that was denied, came too late or failed, and with 69 if no \
      daemon answers.
      """)

  @Argument(help: "The credential's name in the configuration.")
  var credential: String

  @Flag(name: .customLong("no-browser"), help: "Only print what is to be opened.")
  var withoutBrowser = false

  @OptionGroup var daemon: ControlOptions

  /// Seconds: longer than any code is good for.
  private static let patience: UInt64 = 2 * 86_400

  func validate() throws {
    guard !credential.isEmpty, !credential.unicodeScalars.contains(where: { $0.value < 0x20 }) else {
      throw ValidationError("No credential has such a name.")
    }
  }

  func run() throws {
    let view = LoginView(credential, opensBrowser: !withoutBrowser, terminal: .output)
    let answer = try daemon.client().ask("login \(credential)", seconds: Login.patience) { view.hear($0) }
    view.endWaiting()
    switch answer {
    case .ok(let text): StandardOutput.print(text.split(separator: "\n").map { "\(String($0).harmless)\n" }.joined())
    case .error(let reason): throw Failure(Failure.no, "\(credential.harmless): \(reason)")
    }
  }
}
