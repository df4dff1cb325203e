internal import Console
internal import ArgumentParser
internal import System

/// `bearerctl status`
struct Status: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "How the running daemon fares: services, connections, secrets, refusals.",
    usage: "bearerctl status [--json | --watch] [--control PATH | --config FILE]",
    discussion: """
      Of a secret it shows where it comes from, since when it is in use, and a fingerprint: eight digits that change \
      when the secret does, and that mean nothing to anybody else. They begin anew with each start of the daemon.

        bearerctl status
        bearerctl status --watch                          live, until q or Ctrl-C
        bearerctl status --json | jq '.credentials[].generation'

      Root and the daemon's own user may ask. Exits with 69 if no daemon answers.
      """)

  @OptionGroup var daemon: ControlOptions

  @Flag(help: "Print the daemon's answer as it is: one JSON document.")
  var json = false

  @Flag(help: "Go on looking, every second.")
  var watch = false

  func validate() throws {
    if json, watch { throw ValidationError("--json prints once; leave out --watch") }
  }

  func run() throws {
    let client = try daemon.client()
    if json { return StandardOutput.print(try client.demand("status") + "\n") }
    if watch { return try Watch(client: client).run() }
    StandardOutput.print(StatusText(try StatusDocument(asking: client), .output).description)
  }
}
