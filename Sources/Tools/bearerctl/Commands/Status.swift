internal import Console
internal import ArgumentParser
internal import System

struct Status: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show the running daemon's services, connections, credentials and refusals.",
    usage: "bearerctl status [--json | --watch] [--control PATH | --config FILE]",
    discussion: """
      For each credential you see its source, how long its value has been in use, and a fingerprint.

        bearerctl status
        bearerctl status --watch                          live, until q or Ctrl-C
        bearerctl status --json | jq '.credentials[].generation'

      A fingerprint has eight digits, which change when the secret changes. It reveals nothing about the secret. After a \
      restart of the daemon, all fingerprints are different.

      Only root and the daemon's own user may run this command. Exits with 69 if no daemon answers.
      """)

  @OptionGroup var daemon: ControlOptions

  @Flag(help: "Print the status as a JSON document.")
  var json = false

  @Flag(help: "Show the status live, and update it every second.")
  var watch = false

  func validate() throws {
    if json, watch { throw ValidationError("--json prints the status once. Leave out --watch.") }
  }

  func run() throws {
    let client = try daemon.client()
    if json { return StandardOutput.print(try client.responseText(to: "status") + "\n") }
    if watch { return try Watch(client: client).run() }
    StandardOutput.print(StatusText(status: try client.status(), terminal: .output).description)
  }
}
