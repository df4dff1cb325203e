internal import Console
internal import ArgumentParser
internal import StatusModel
internal import System

struct Logout: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "End the login of a credential, and cut all requests and connections that use it.",
    usage: "bearerctl logout CREDENTIAL [--json] [--control PATH | --config FILE]",
    discussion: """
      From then on, requests with the credential get 503 (login-required), also after a restart.

        bearerctl logout mail
        bearerctl logout mail --json | jq .cut

      The running daemon wipes the token from memory and the stored login from the disk. It cuts the connections, TLS \
      sessions, WebSockets, event streams and requests of this credential. Other credentials are not affected. If the \
      configuration has a revocation_url, the daemon also revokes the tokens at the server (RFC 7009). The command prints what \
      was cut and what was revoked.

      The daemon does not delete a secret that comes from a file or a program. It wipes such a secret from memory. It uses a \
      file again when the file has another value, or after a reload. It uses a program again only after a reload. A restart \
      counts as a reload. The same is true for grants that need no login.

      Exits with 0 if everything was done, with 1 if something failed (the output says what), and with 69 if no daemon \
      answers.
      """)

  @Argument(help: "The name of the credential in the configuration.")
  var credential: String

  @OptionGroup var daemon: ControlOptions

  @Flag(help: "Print the result as a JSON document.")
  var json = false

  /// Timeout in seconds.
  private static let timeout: UInt64 = 180

  func run() throws {
    let client = try daemon.client()
    let text = try client.responseText(to: "logout \(credential)", seconds: Self.timeout)
    let report = try LogoutText(report: client.decode(text), terminal: .output)
    StandardOutput.print(json ? text + "\n" : report.description)
    if !report.isComplete { throw Failure(Failure.no) }
  }
}
