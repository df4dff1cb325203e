import Foundation
import ServerSupport
import TestSupport
import Testing

/// Somebody who logs in: the real `bearerctl login`, and what it shows.
final class Person {
  private let process: Child
  private let output = OutputCollector()

  init(_ stage: TokenStage, _ words: [String] = ["login", "canary"], environment: [String: String] = [:]) throws {
    process = try Child(
      RunningDaemon.binary("bearerctl"), words + ["--control", stage.stage.scratch.path + "/control.sock"],
      environment: ["PATH": "/usr/bin:/bin"].merging(environment) { $1 }, output: output.writing.fileDescriptor,
      errors: output.writing.fileDescriptor)
    try output.writing.close()
  }

  /// What it has shown so far.
  var text: String { output.text }

  func sees(_ text: String) -> Bool { output.wait { $0.contains(text) } }

  func leaves(_ signal: Int32 = SIGINT) { process.kill(signal) }

  /// The exit status, once it has ended by itself; all that it showed is in `text` then.
  func ends() -> Int32 {
    let status = process.wait()
    output.finish()
    return status
  }

  /// The URL that a browser shall open, by the names of its query.
  func query() throws -> [String: String] {
    guard sees("&code_challenge_method=S256"),
      let line = text.split(separator: "\n").first(where: { $0.contains("https://") }),
      let items = URLComponents(string: line.trimmingCharacters(in: .whitespaces))?.queryItems
    else { throw TestFailure("no URL in: \(text)") }
    return Dictionary(uniqueKeysWithValues: items.map { ($0.name, $0.value ?? "") })
  }
}

extension TokenStage {
  /// Nobody sees what only the server and bearerd may.
  func assertLogin(_ persons: [Person], times: Int, sourceLocation: SourceLocation = #_sourceLocation) {
    assertSecrets(times: times, sourceLocation: sourceLocation)
    let verifiers = tokens.forms.compactMap { $0["code_verifier"] }
    for secret in [Self.deviceCode, Self.code, refresh] + verifiers {
      stage.assertCanary(times: 0, as: secret, secret: secret, sourceLocation: sourceLocation)
    }
    for secret in [stage.canary, clientSecret, Self.deviceCode, Self.code, refresh] + verifiers {
      for person in persons { #expect(!person.text.contains(secret), sourceLocation: sourceLocation) }
    }
  }
}
