import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

/// The token fields of `bearerctl status`: merged from all workers, without any part of a secret.
@Suite(.inProcess) struct TokenStatusTests {
  private func credential(_ stage: TokenStage, _ name: String = "canary") throws -> [String: Any] {
    let text = String(try stage.stage.control("status").dropFirst(3))
    // Shorter pieces can appear in a fingerprint by chance.
    for secret in [stage.stage.canary, stage.clientSecret, stage.first, TokenStage.refresh, Stage.secondSecret] {
      let bytes = Array(secret.utf8.drop { $0 != UInt8(ascii: "-") }.dropFirst())
      for start in bytes.indices.dropLast(7) {
        #expect(!text.contains(String(decoding: bytes[start..<(start + 8)], as: UTF8.self)))
      }
    }
    let status = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    let all = status?["credentials"] as? [[String: Any]]
    return try #require(all?.first { $0["name"] as? String == name })
  }

  private func token(_ stage: TokenStage) throws -> [String: Any] {
    try #require(try credential(stage)["token"] as? [String: Any])
  }

  @Test(arguments: [1, 3])
  func `the status shows a token's kind, age, expiry, last success, last failure and logout`(workers: Int) throws {
    let stage = try TokenStage()
    stage.tokens.respond(with: [
      .error(503, "temporarily_unavailable"), .token(stage.stage.canary, expiresIn: 3600, refresh: TokenStage.refresh),
    ])
    try stage.stage.start(
      try stage.stage.addSecondCredential(in: stage.configuration(TokenStage.person, workers: workers)))
    #expect(try stage.stage.get().isRefused("token-unavailable"))
    var failed = try credential(stage)
    #expect(failed["kind"] as? String == "oauth2 refresh_token" && failed["available"] as? Bool == false)
    #expect(failed["age"] is NSNull && failed["expires"] is NSNull && failed["fingerprint"] is NSNull)
    #expect((failed["problem"] as? String)?.contains("503") == true)
    let first = try token(stage)
    #expect(first["last_granted"] is NSNull && first["last_failed"] is Int)
    #expect((first["last_failure"] as? String)?.contains("responded with 503") == true)

    #expect(try stage.ask(until: { $0.status == 200 }) != nil)
    let clients = try (0..<6).map { _ in try stage.stage.client() }
    for client in clients { try client.send(stage.stage.head("GET")) }
    for client in clients { #expect(try client.response().status == 200) }
    let good = try credential(stage)
    let now = Int(Date().timeIntervalSince1970)
    #expect(good["available"] as? Bool == true && good["problem"] is NSNull)
    #expect((good["age"] as? Int).map { (0..<60).contains($0) } == true)
    #expect((good["expires"] as? Int).map { (now + 3_400...now + 3_600).contains($0) } == true, "\(good)")
    #expect((good["fingerprint"] as? String)?.utf8.count == 8)
    let second = try token(stage)
    #expect(second["last_granted"] is Int && second["login_required"] as? Bool == false)
    #expect((second["last_failure"] as? String)?.contains("responded with 503") == true, "what was stays to be seen")
    for _ in 0..<5 {
      let again = try credential(stage)
      for key in ["fingerprint", "generation", "changed"] { #expect("\(again[key] ?? "")" == "\(good[key] ?? "")") }
    }
    let file = try credential(stage, "second")
    #expect(file["kind"] as? String == "bearer" && file["token"] == nil && file["logged_out"] as? Bool == false)

    try stage.stage.logOut()
    failed = try credential(stage)
    #expect(failed["logged_out"] as? Bool == true && failed["available"] as? Bool == false)
    #expect(failed["fingerprint"] is NSNull && failed["expires"] is NSNull)
    #expect(try token(stage)["login_required"] as? Bool == true)
    try stage.stage.logOut("second")
    #expect(try credential(stage, "second")["logged_out"] as? Bool == true)
    let text = try PrometheusText(String(try stage.stage.control("metrics").dropFirst(3)))
    #expect(try text.value("bearerd_login_required", ["credential": "canary"]) == 1)
    #expect(try text.value("bearerd_credential_available", ["credential": "second"]) == 0)
    stage.assertSecrets(times: 7)
  }
}
