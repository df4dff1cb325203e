internal import Console
internal import ArgumentParser
internal import System

struct Logout: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "End the login of a credential, and cut all requests and connections that use it.",
    usage: "bearerctl logout CREDENTIAL | --all | --service SERVICE [--json] [--control PATH | --config FILE]",
    discussion: """
      From then on, requests with the credential get 503 (login-required), also after a restart.

        bearerctl logout mail
        bearerctl logout mail --json | jq .cut
        bearerctl logout --service mail
        bearerctl logout --all

      The running daemon wipes the token from memory and the stored login from the disk. It cuts the connections, TLS \
      sessions, WebSockets, event streams and requests of this credential. Other credentials are not affected. If the \
      configuration has a revocation_url, the daemon also revokes the tokens at the server (RFC 7009). The command prints what \
      was cut and what was revoked.

      The daemon does not delete a secret that comes from a file or a program. It wipes such a secret from memory. It uses a \
      file again when the file has another value, or after a reload. It uses a program again only after a reload. A restart \
      counts as a reload. The same is true for grants that need no login.

      With --service, the daemon logs out all credentials that the rules of the service can use. Other services that use the \
      same credentials also lose them. With --all, it logs out all credentials of the configuration. The command does not ask \
      for a confirmation. With --json, the members "credentials" and "failed" of the document list the results.

      Exits with 0 if everything was done, with 1 if something failed (the output says what), and with 69 if no daemon \
      answers.
      """)

  @Argument(help: "The name of the credential in the configuration.")
  var credential: String?

  @Flag(help: "Log out all credentials.")
  var all = false

  @Option(help: "Log out all credentials that the rules of this service can use.")
  var service: String?

  @OptionGroup var daemon: ControlOptions

  @Flag(help: "Print the result as a JSON document.")
  var json = false

  /// Timeout in seconds.
  private static let timeout: UInt64 = 180

  func validate() throws {
    guard [credential != nil, all, service != nil].count(where: \.self) == 1 else {
      throw ValidationError("Write the name of a credential, --all or --service SERVICE, and only one of them.")
    }
    for name in [credential, service].compactMap(\.self)
    where name.isEmpty || name.unicodeScalars.contains(where: { $0.value < 0x20 }) {
      throw ValidationError("A name must not be empty, and must not have control characters.")
    }
  }

  func run() throws {
    let client = try daemon.client()
    let command = credential.map { "logout \($0)" } ?? service.map { "logout-service \($0)" } ?? "logout-all"
    let text = try client.responseText(to: command, seconds: Self.timeout)
    let (description, isComplete): (String, Bool)
    if credential != nil {
      let report = try LogoutText(report: client.decode(text), terminal: .output)
      (description, isComplete) = (report.description, report.isComplete)
    } else {
      let report = try LogoutsText(report: client.decode(text), terminal: .output)
      (description, isComplete) = (report.description, report.isComplete)
    }
    StandardOutput.print(json ? text + "\n" : description)
    if !isComplete { throw Failure(Failure.no) }
  }
}
