internal import Console
internal import ArgumentParser
internal import StatusModel
internal import System

struct Resume: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "End the suspension of a credential now.",
    usage: "bearerctl resume CREDENTIAL [--json] [--control PATH | --config FILE]",
    discussion: """
      Use this command if the secret is right, and the upstream rejected it by mistake.

        bearerctl resume github

      bearerd suspends a credential that an upstream keeps rejecting, so that the account is not locked. Requests then get \
      503 (credential-suspended). A new secret ends the suspension. This command ends the suspension without a new \
      secret. If bearerd could not get a token, or the upstream rejected the token, bearerd also requests a new one at once.

      Exits with 0 if something was resumed or requested, with 1 if there was nothing to resume, and with 69 if no daemon \
      answers.
      """)

  @Argument(help: "The name of the credential in the configuration.")
  var credential: String

  @OptionGroup var daemon: ControlOptions

  @Flag(help: "Print the result as a JSON document.")
  var json = false

  func run() throws {
    let client = try daemon.client()
    let text = try client.responseText(to: "resume \(credential)")
    guard let result = try? client.decode(text) as ResumeResult else {
      throw Failure(Failure.no, "the daemon's answer cannot be read: bearerd has another version than bearerctl")
    }
    if json {
      StandardOutput.print(text + "\n")
    } else {
      for upstream in result.upstreams { StandardOutput.print("resumed at \(upstream.harmless)\n") }
      if result.tokenAskedFor { StandardOutput.print("requesting a new token\n") }
    }
    guard result.upstreams.isEmpty, !result.tokenAskedFor else { return }
    throw Failure(Failure.no, "\(credential.harmless) was not suspended, so there is nothing to resume")
  }
}
