internal import Console
internal import ArgumentParser
internal import System

struct Login: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Log in to an account, so that bearerd keeps and renews its tokens.",
    usage: "bearerctl login [CREDENTIAL] [--no-browser] [--control PATH | --config FILE]",
    discussion: """
      Shows the page to open and the code to enter there, and waits until you have logged in.

        bearerctl login
        bearerctl login mail

      Without a name, the command starts no login. It lists the credentials that have a login, or that need a person to act. \
      For each credential, it prints the state and the command to run.

      The credential must have "oauth2" with grant device_code or authorization_code, or "oauth1" with \
      request_token_url, authorize_url and access_token_url. The running daemon talks to the authorization server and \
      keeps the tokens. No token passes through bearerctl.

      With authorization_code and oauth1, the page opens in a browser if this machine has a display and you are not \
      root. Ctrl-C ends the login. If a login for this credential is already in progress, you join that login.

      Exits with 0 if you are logged in or if it printed the list, with 1 if the login was denied, expired or failed, \
      and with 69 if no daemon answers.
      """)

  @Argument(help: "The name of the credential in the configuration.")
  var credential: String?

  @Flag(name: .customLong("no-browser"), help: "Print the page to open, and start no browser.")
  var withoutBrowser = false

  @OptionGroup var daemon: ControlOptions

  /// Maximum time for a login, in seconds.
  private static let timeout: UInt64 = 2 * 86_400

  func validate() throws {
    guard let credential else { return }
    guard !credential.isEmpty, !credential.unicodeScalars.contains(where: { $0.value < 0x20 }) else {
      throw ValidationError("The name of a credential must not be empty, and must not have control characters.")
    }
  }

  func run() throws {
    guard let credential else {
      return StandardOutput.print(LoginList(try daemon.client().status(), terminal: .output).description)
    }
    let view = LoginView(credential, opensBrowser: !withoutBrowser, terminal: .output)
    let response = try daemon.client().send("login \(credential)", seconds: Login.timeout) { view.receive($0) }
    view.endWaiting()
    switch response {
    case .ok(let text): StandardOutput.print(text.split(separator: "\n").map { "\(String($0).harmless)\n" }.joined())
    case .error(let reason): throw Failure(Failure.no, "\(credential.harmless): \(reason)")
    }
  }
}
