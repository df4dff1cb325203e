import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

/// Cookie jars of token credentials. A renewed token of the same identity keeps the jar, another identity does not
/// (T34).
@Suite(.inProcess) struct TokenCookieJarTests {
  private static let cookie = "JAR-" + UUID().uuidString

  /// Responds with the number of cookies in the request, or with 401 to a token that is not in `good`.
  private func stage(_ good: Guarded<Set<String>>) throws -> TokenStage {
    try TokenStage { connection in
      while let request = try? connection.readRequest() {
        let token = request.text.firstMatch(of: /Authorization: Bearer (\S+)/).map { String($0.1) } ?? ""
        let count = request.text.components(separatedBy: Self.cookie).count - 1
        guard good.withLock({ $0.isEmpty || $0.contains(token) }) else {
          connection.respond(
            "expired", status: "401 Unauthorized", fields: "WWW-Authenticate: Bearer error=\"invalid_token\"\r\n")
          continue
        }
        connection.respond(
          String(count), fields: request.text.hasPrefix("GET /base/set ") ? "Set-Cookie: a=\(Self.cookie)\r\n" : "")
      }
    }
  }

  private func configuration(_ stage: TokenStage, workers: Int) -> String {
    stage.configuration(workers: workers).replacing(
      "credential: canary\n", with: "credential: canary\n    cookies: jar\n")
  }

  /// Starts a stage whose first token has stored a cookie. The upstream accepts tokens in `good`, and the endpoint then
  /// grants `next`.
  private func stageWithCookie(workers: Int) throws -> (stage: TokenStage, good: Guarded<Set<String>>, next: String) {
    let good = Guarded(Set<String>())
    let stage = try stage(good)
    let next = "NEXT-" + UUID().uuidString
    stage.tokens.respond(with: [.token(stage.stage.canary, expiresIn: 3600), .token(next, expiresIn: 3600)])
    try stage.stage.start(configuration(stage, workers: workers))
    #expect(try stage.stage.get("/api/set").text == "0")
    return (stage, good, next)
  }

  @Test(arguments: [1, 3])
  func `T34: a renewed token keeps its cookie jar`(workers: Int) throws {
    let (stage, good, next) = try stageWithCookie(workers: workers)
    good.withLock { $0 = [next] }
    for _ in 0..<6 { #expect(try stage.stage.get().text == "1") }
    #expect(stage.tokens.requests.count == 2)
    stage.stage.assertCanary(times: 0, as: "no line", secret: Self.cookie)
    stage.stage.assertCanary(times: 6, as: next, secret: next)
  }

  @Test(arguments: [1, 3])
  func `T34: a token from another client secret starts with an empty cookie jar`(workers: Int) throws {
    let (stage, good, next) = try stageWithCookie(workers: workers)
    #expect(try stage.stage.get().text == "1")
    try stage.stage.scratch.write("client.secret", "ANOTHER-secret\n")
    try stage.stage.reload(configuration(stage, workers: workers))
    #expect(try stage.stage.get().text == "1", "it still goes out with the token of before")
    good.withLock { $0 = [next] }
    for _ in 0..<6 { #expect(try stage.stage.get().text == "0") }
    let mixed = stage.stage.recorded.components(separatedBy: "GET ").filter {
      $0.contains(next) && $0.contains(Self.cookie)
    }
    #expect(mixed.isEmpty && stage.stage.recorded.contains(next))
    stage.stage.assertCanary(times: 0, as: "no line", secret: Self.cookie)
  }
}
