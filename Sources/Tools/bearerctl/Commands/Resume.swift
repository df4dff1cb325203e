internal import Console
internal import ArgumentParser
// For Decodable and JSONDecoder: bearerctl has this much of Foundation already, by ArgumentParser.
internal import FoundationEssentials
internal import System

/// `bearerctl resume`
struct Resume: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Let a suspended credential go out again now.",
    usage: "bearerctl resume CREDENTIAL [--json] [--control PATH | --config FILE]",
    discussion: """
      A credential that an upstream keeps rejecting is suspended, so that no account is locked: requests get 503 \
      (credential-suspended). Another secret ends that by itself. This ends it without one, where you know that the upstream \
      was wrong; and a token that could not be had, or was rejected, is asked for at once.

        bearerctl resume github

      Exits with 0 if something was resumed or asked for, with 1 if there was nothing to resume, and with 69 if no daemon \
      answers.
      """)

  @Argument(help: "Its name in the configuration.")
  var credential: String

  @OptionGroup var daemon: ControlOptions

  @Flag(help: "Print the daemon's answer as it is: one JSON document.")
  var json = false

  private struct Answer: Decodable {
    let upstreams: [String]
    let tokenAskedFor: Bool
  }

  func run() throws {
    let client = try daemon.client()
    let text = try client.demand("resume \(credential)")
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    guard let answer = try? decoder.decode(Answer.self, from: Data(text.utf8)) else {
      throw Failure(Failure.no, "the daemon's answer cannot be read: is it of the same version?")
    }
    if json {
      StandardOutput.print(text + "\n")
    } else {
      for upstream in answer.upstreams { StandardOutput.print("resumed at \(upstream.harmless)\n") }
      if answer.tokenAskedFor { StandardOutput.print("a token is asked for now\n") }
    }
    guard answer.upstreams.isEmpty, !answer.tokenAskedFor else { return }
    throw Failure(Failure.no, "\(credential.harmless) was not suspended: nothing to resume")
  }
}
