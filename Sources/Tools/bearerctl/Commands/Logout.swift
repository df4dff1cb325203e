internal import Console
internal import ArgumentParser
internal import System

/// `bearerctl logout`
struct Logout: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "End a credential's login, and whatever still uses it.",
    usage: "bearerctl logout CREDENTIAL [--json] [--control PATH | --config FILE]",
    discussion: """
      The running daemon wipes the token in all its workers, and the stored login from the disk; cuts the connections, TLS \
      sessions, WebSockets, event streams and requests of this credential, and of no other; and gives its tokens back to \
      their server, if revocation_url says where (RFC 7009). It prints what it cut and what was revoked. Requests get 503 \
      (login-required) from then on, also after a restart.

        bearerctl logout mail
        bearerctl logout mail --json | jq .cut

      A secret in a file, or of a program, is not the daemon's to delete: it is wiped from memory and not used again until \
      its file holds another one, or a reload; a program's until a reload. A restart is one. The same holds for grants that \
      need no login.

      Exits with 0 if all of that was done, with 1 if something could not be (it says what), and with 69 if no daemon \
      answers.
      """)

  @Argument(help: "Its name in the configuration.")
  var credential: String

  @OptionGroup var daemon: ControlOptions

  @Flag(help: "Print the daemon's answer as it is: one JSON document.")
  var json = false

  /// Seconds: the daemon gives the disk 10, and the server twice its timeout, which is a minute at most.
  private static let patience: UInt64 = 180

  func run() throws {
    let client = try daemon.client()
    let text = try client.demand("logout \(credential)", seconds: Self.patience)
    let report = try LogoutText(text, from: client, .output)
    StandardOutput.print(json ? text + "\n" : report.description)
    if !report.isComplete { throw Failure(Failure.no) }
  }
}
