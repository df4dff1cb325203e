import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

/// A request right after a file change has the new value or is refused, whatever other sources its credential has.
@Suite(.inProcess) struct SecretsAreFresh {
  enum Other: String, CaseIterable, Sendable {
    case nothing, file, token, command
  }

  /// Connections to all workers: a new connection goes to the worker with the fewest connections.
  private final class Callers {
    private let clients: [LocalClient]
    private let port: UInt16
    private var turn = 0

    init(_ stage: Stage, workers: Int) throws {
      clients = try (0..<(workers * 2)).map { _ in try stage.client() }
      port = try stage.daemon!.port()
    }

    func get(_ path: String) throws -> LocalClient.Response {
      turn += 1
      let client = clients[turn % clients.count]
      try client.send("GET \(path) HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n")
      return try client.response()
    }
  }

  private static let key =
    "  key:\n    origins: [\"ORIGIN\"]\n    headers: [{ name: X-Api-Key, value: { file: key.token } }]\nservices:\n"

  private func configuration(_ stage: TokenStage, _ other: Other, workers: Int) -> String {
    let key = Self.key.replacing("ORIGIN", with: stage.stage.origin)
    let plain = { stage.stage.configuration(credential: $0, more: "\nworkers: \(workers)\n") }
    let text =
      switch other {
      case .token: stage.configuration(workers: workers)
      case .nothing, .file: plain("bearer: { file: canary.token }")
      case .command: plain("bearer: { command: [/bin/echo, printed] }")
      }
    return text.replacing("\nservices:\n", with: "\n" + key)
      .replacing("credential: canary", with: other == .nothing ? "credential: key" : "credential: [key, canary]")
  }

  private struct Combination: Sendable, CustomTestStringConvertible {
    let other: Other
    let workers: Int
    var testDescription: String { "\(other.rawValue), \(workers)" }
  }

  private static let combinations = Other.allCases.flatMap { other in
    [1, 2].map { Combination(other: other, workers: $0) }
  }

  @Test(arguments: combinations)
  private func `T44: a request after a file change has the new value, beside any second credential`(
    _ combination: Combination
  ) throws {
    let stage = try TokenStage()
    let scratch = stage.stage.scratch
    let rounds = 400
    for round in 0...rounds { try scratch.write("next/\(round)", "ROUND-\(round)-secret") }
    let (next, keyFile) = (scratch.path + "/next/", scratch.path + "/key.token")
    #expect(rename(next + "\(rounds)", keyFile) == 0)
    try stage.stage.start(configuration(stage, combination.other, workers: combination.workers))
    let callers = try Callers(stage.stage, workers: combination.workers)
    #expect(try callers.get("/api/first").status == 200)
    var unrefused = 0
    for round in 0..<rounds {
      if round % 2 == 0 {
        #expect(unlink(keyFile) == 0)
        if try callers.get("/api/removed").status != 503 { unrefused += 1 }
      }
      #expect(rename(next + "\(round)", keyFile) == 0)
      #expect(try callers.get("/api/\(round)").status == 200, "\(round)")
    }
    #expect(unrefused == 0)
    let seen = stage.stage.recorded.components(separatedBy: "GET /base/").dropFirst()
    #expect(seen.count == rounds + 1)
    let old = seen.filter { request in
      !request.hasPrefix("first ")
        && !request.contains("X-Api-Key: ROUND-\(request.prefix { $0.isNumber })-secret\r\n")
    }
    #expect(old.isEmpty, "\(old.count) of \(rounds): \(old.first ?? "")")
  }

  /// Returns a configuration with `count` oauth2 credentials, each with its own secret file. The server accepts only
  /// `GOOD`.
  private func logins(_ stage: TokenStage, count: Int, grant: String, workers: Int) -> String {
    let text = stage.configuration(grant, workers: workers)
    let lines = text.components(separatedBy: "\n")
    let start = lines.firstIndex { $0.hasPrefix("  canary:") } ?? 0
    let end = lines.firstIndex { $0 == "services:" } ?? 0
    let credential = lines[start..<end].joined(separator: "\n")
    let all = (0..<count).map { index in
      credential.replacing("canary", with: "c\(index)").replacing("FILE", with: "c\(index).file")
    }
    let services = (0..<count).map { index in
      "  s\(index):\n    upstream: \(stage.stage.origin)/base/\n    ca_file: ca.pem\n    credential: c\(index)\n"
    }
    return
      (lines[..<start] + all + ["services:"] + services
      + lines.filter { $0.hasPrefix("control:") || $0.hasPrefix("workers:") }).joined(separator: "\n")
  }

  @Test(arguments: [1, 2], ["refresh_token", "client_secret"])
  func
    `T44: after a refused grant, a changed file leads to a new token request, and the caller waits`(
      workers: Int, changed: String
    ) throws
  {
    let stage = try TokenStage()
    let isGood: @Sendable (UpstreamRequest) -> Bool = { request in
      request.form["refresh_token"] == "GOOD"
        || request.text.contains(Data("bearerd:GOOD".utf8).base64EncodedString())
    }
    let refusal =
      changed == "refresh_token" ? TokenServer.Response.error(400, "invalid_grant") : .error(401, "invalid_client")
    stage.tokens.onDecision.withLock { $0 = { isGood($0) ? nil : refusal } }
    let count = 40
    for index in 0..<count {
      try stage.stage.scratch.write("c\(index).file", "BAD")
      try stage.stage.scratch.write("good/\(index)", "GOOD")
    }
    let grant =
      changed == "refresh_token"
      ? "grant: refresh_token, refresh_token: { file: FILE }" : "grant: client_credentials"
    var text = logins(stage, count: count, grant: grant, workers: workers)
    if changed == "client_secret" {
      for index in 0..<count {
        text = text.replacing("  c\(index):\n", with: "  c\(index): # \(index)\n")
      }
      var parts = text.components(separatedBy: "{ file: client.secret }")
      let last = parts.removeLast()
      text = parts.enumerated().map { "\($1){ file: c\($0).file }" }.joined() + last
    }
    let daemon = try stage.stage.start(text)
    #expect(stage.tokens.waitForRequests(count))
    let callers = try Callers(stage.stage, workers: workers)
    for index in 0..<count {
      #expect(try callers.get("/s\(index)/x").status == 503)
      let path = stage.stage.scratch.path
      #expect(rename("\(path)/good/\(index)", "\(path)/c\(index).file") == 0)
      let response = try callers.get("/s\(index)/x")
      #expect(response.status == 200, "\(index): \(response.text)")
    }
    _ = daemon
    stage.stage.assertCanary(times: count)
  }
}
