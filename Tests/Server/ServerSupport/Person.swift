import Foundation
import TestSupport
package import Testing

/// A user who logs in: with `bearerctl login`, or only through the control socket if the server is a thread of this
/// process.
package final class Person {
  private enum Means {
    case program(Child)
    case socket(Int32)
  }

  private let means: Means
  private let output = OutputCollector()
  private let hasEnded = Gate()

  /// Begins a login with a code, to which the token server responds with `response`, by default with tokens.
  package static func login(_ stage: TokenStage, _ response: TokenServer.Response? = nil) throws -> Person {
    stage.tokens.respond(with: [TokenStage.deviceResponse(), response ?? stage.granted])
    return try Person(stage)
  }

  package init(
    _ stage: TokenStage, _ words: [String] = ["login", "canary"], environment: [String: String] = [:]
  ) throws {
    let path = stage.stage.scratch.path + "/control.sock"
    switch Launch.current {
    case .process:
      means = .program(
        try Child(
          RunningDaemon.binary("bearerctl"), words + ["--control", path],
          environment: ["PATH": "/usr/bin:/bin"].merging(environment) { $1 }, output: output.writing.fileDescriptor,
          errors: output.writing.fileDescriptor))
      try output.writing.close()
    case .thread:
      let socket = try connectedSocket(unix: path)
      means = .socket(socket)
      let line = Array((words.joined(separator: " ") + "\n").utf8)
      guard send(socket, line, line.count, Int32(MSG_NOSIGNAL)) == line.count else {
        throw TestFailure("send: \(errno)")
      }
      Thread.detachNewThread { [output, hasEnded] in
        while case let bytes = receive(socket), !bytes.isEmpty { try? output.writing.write(contentsOf: bytes) }
        try? output.writing.close()
        hasEnded.open()
      }
    }
  }

  deinit {
    guard case .socket(let socket) = means else { return }
    shutdown(socket, Int32(SHUT_RDWR))
    hasEnded.pass()
    close(socket)
  }

  package var text: String { output.text }

  package func sees(_ text: String) -> Bool { output.wait { $0.contains(text) } }

  package func interrupt(_ signal: Int32 = SIGINT) {
    switch means {
    case .program(let process): process.kill(signal)
    case .socket(let socket): shutdown(socket, Int32(SHUT_RDWR))
    }
  }

  /// Waits for the end and returns the exit status. `text` then has the complete output.
  package func waitForExit() -> Int32 {
    switch means {
    case .program(let process):
      let status = process.wait()
      output.finish()
      return status
    case .socket:
      output.finish()
      return text.split(separator: "\n").contains("ok") ? 0 : 1
    }
  }

  /// Returns the query parameters of the URL for the browser.
  package func query() throws -> [String: String] {
    guard sees("&code_challenge_method=S256"),
      let line = text.split(separator: "\n").first(where: { $0.contains("https://") }),
      let url = line.range(of: "https://"),
      let items = URLComponents(string: line[url.lowerBound...].trimmingCharacters(in: .whitespaces))?.queryItems
    else { throw TestFailure("no URL in: \(text)") }
    return Dictionary(uniqueKeysWithValues: items.map { ($0.name, $0.value ?? "") })
  }
}

extension TokenStage {
  /// Asserts that no secret of the login appears outside of the server and bearerd.
  package func assertLogin(_ persons: [Person], times: Int, sourceLocation: SourceLocation = #_sourceLocation) {
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
