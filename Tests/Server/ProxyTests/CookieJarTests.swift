import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

/// With `cookies: jar`, bearerd keeps an upstream's cookies per credential and origin, and hides them from programs
/// (T34).
@Suite(.inProcess) struct CookieJarTests {
  /// Sets the cookies that the path names, with the credential's name in their value. The response body lists the
  /// request's cookies.
  private static let handler: @Sendable (AcceptedConnection) -> Void = { connection in
    while let request = try? connection.readRequest() {
      let path = request.text.split(separator: " ")[1]
      let lines = request.text.components(separatedBy: "\r\n").filter { $0.lowercased().hasPrefix("cookie:") }
      let token = request.text.components(separatedBy: "Authorization: Bearer ").last?.components(separatedBy: "\r\n")[
        0]
      let owner = token == Stage.secondSecret ? "second" : token.map { "first-\($0.count)" } ?? "nobody"
      var fields = ""
      if path.hasSuffix("/set") { fields = "Set-Cookie: sid=JAR-\(owner)-\(secret); Path=/; HttpOnly\r\n" }
      if path.hasSuffix("/end") { fields = "Set-Cookie: sid=; Path=/; Max-Age=0\r\n" }
      if path.hasSuffix("/hostile") { fields = hostile }
      connection.respond(
        lines.joined(separator: "|").isEmpty ? "none" : "\(lines.count) \(known(lines))", fields: fields)
    }
  }
  private static let secret = UUID().uuidString

  /// The received cookies, without the secret part of their values.
  private static func known(_ lines: [String]) -> String {
    lines.map { $0.replacing("Cookie: ", with: "").replacing(secret, with: "") }.joined(separator: "|")
  }

  private static let hostile =
    [
      "a=parent; Domain=host", "b=other; Domain=example.com", "c=\(String(repeating: "x", count: 4_100))",
      "d=tab\tand\u{e9}", "__Host-e=1", "__Secure-f=1", "=nameless", "g", "h=elsewhere; Path=/other",
      "good=\"quoted and, spaced\"; Domain=localhost",
    ].map { "Set-Cookie: \($0)\r\n" }.joined()

  private func stage() throws -> Stage { try Stage(handler: Self.handler) }

  /// Like the credential, cookies identify the user.
  @Test func `T34: a request without credential sends no cookie, and cookies of its response are not stored`() throws {
    let received = Guarded<[String]>([])
    let stage = try Stage { connection in
      while let request = try? connection.readRequest() {
        received.withLock { $0.append(request.text) }
        let isBare = !request.text.contains("\r\nAuthorization: ")
        let fields = "Set-Cookie: sid=JAR-\(isBare ? "bare" : "whole"); Path=/\r\n"
        let (status, challenge) = isBare ? ("401 Unauthorized", "WWW-Authenticate: Bearer\r\n") : ("200 OK", "")
        connection.respond("", status: status, fields: fields + challenge)
      }
    }
    try stage.start(
      stage.configuration(
        service: "cookies: jar", credential: "bearer: { file: canary.token }\n    mode: challenge"))
    for _ in 0..<2 { #expect(try stage.get().status == 200) }
    let requests = received.withLock(\.self)
    #expect(requests.map { $0.contains("Authorization: ") } == [false, true, false, true])
    #expect(requests.map { $0.contains("Cookie: ") } == [false, false, false, true])
    #expect(!stage.recorded.contains("JAR-bare"))
    stage.assertCanary(times: 2)
  }

  /// `api` and `second`, each with its credential and a jar.
  private func configuration(_ stage: Stage, workers: Int = 1, jar: String = "jar", more: String = "") throws -> String
  {
    try stage.addSecondCredential(
      in: stage.configuration(service: "cookies: \(jar)", more: "control: control.sock\nworkers: \(workers)\n\(more)")
    )
    .replacing("credential: second }", with: "credential: second, cookies: \(jar) }")
  }

  /// Checks that only the upstream got the values of cookies.
  private func assertUnseen(_ stage: Stage) {
    #expect(stage.recorded.contains("JAR-"), "the upstream gets it back")
    stage.assertCanary(times: 0, as: "JAR-nobody", secret: Self.secret)
  }

  @Test(arguments: [1, 3])
  func `T34: two credentials on one host have separate cookies, and no program gets any of them`(
    workers: Int
  ) throws {
    let stage = try stage()
    try stage.start(try configuration(stage, workers: workers))
    let first = "1 sid=JAR-first-\(stage.canary.count)-"
    let clients = try (0..<6).map { _ in try stage.client() }
    #expect(try stage.get("/api/x").text == "none")
    #expect(try stage.get("/api/set").values("Set-Cookie").isEmpty)
    // Requests of all connections, and so of all workers, send the cookie.
    for client in clients {
      try client.send(stage.head("GET", "/api/x"))
      #expect(try client.response().text == first)
      try client.send(stage.head("GET", "/second/x"))
      #expect(try client.response().text == "none")
    }
    #expect(try stage.get("/second/set").text == "none")
    var state: UInt32 = 1
    for round in 0..<40 {
      let services = clients.indices.map { _ in
        state = state &* 1_664_525 &+ 1_013_904_223
        return (state >> 16) % 2 == 0 ? "api" : "second"
      }
      for (client, service) in zip(clients, services) {
        try client.send(
          stage.head("GET", "/\(service)/\(round % 5 == 0 ? "set" : "x")", fields: "Cookie: sid=mine\r\n"))
      }
      for (client, service) in zip(clients, services) {
        let response = try client.response()
        #expect(response.status == 200 && response.values("Set-Cookie").isEmpty)
        #expect(response.text == (service == "api" ? first : "1 sid=JAR-second-"))
      }
    }
    for client in clients { #expect(!String(decoding: client.received, as: UTF8.self).contains(Self.secret)) }
    assertUnseen(stage)
  }

  @Test func `T34: other origins, and services of the same origin without a jar, get no cookie`() throws {
    let stage = try stage()
    let other = try UpstreamServer(chain: [Stage.leaf(issuer: stage.ca)], handler: Self.handler)
    defer { other.stop() }
    let text = stage.configuration(
      service: "cookies: jar",
      services: """
          other: { upstream: "https://localhost:\(other.port)/", ca_file: ca.pem, credential: canary, cookies: jar }
          plain: { upstream: \(stage.origin)/, ca_file: ca.pem, credential: canary }
          bare: { upstream: \(stage.origin)/, ca_file: ca.pem, credential: none, cookies: pass }
          same: { upstream: \(stage.origin)/, ca_file: ca.pem, credential: canary, cookies: jar }
        """
    ).replacing("origins: [", with: "origins: [\"https://localhost:\(other.port)\", ")
    try stage.start(text)
    _ = try stage.get("/api/set")
    for service in ["other", "plain", "bare"] { #expect(try stage.get("/\(service)/x").text == "none", "\(service)") }
    #expect(try stage.get("/same/x").text.hasPrefix("1 sid=JAR-first"))
    assertUnseen(stage)
  }

  @Test func `T34: a cookie is sent until the upstream deletes it`() throws {
    let stage = try stage()
    try stage.start(try configuration(stage))
    _ = try stage.get("/api/set")
    #expect(try stage.get("/api/end").text.hasPrefix("1 sid="))
    #expect(try stage.get("/api/x").text == "none")
    assertUnseen(stage)
  }

  @Test func `T43: invalid cookies and cookies for other domains are not stored`() throws {
    let stage = try stage()
    try stage.start(try configuration(stage))
    _ = try stage.get("/api/hostile")
    #expect(try stage.get("/api/x").text == "1 good=\"quoted and, spaced\"")
  }

  @Test(arguments: [1, 3])
  func `T46: a logout deletes the cookies of its own credential only`(workers: Int) throws {
    let stage = try stage()
    try stage.start(try configuration(stage, workers: workers))
    _ = try stage.get("/api/set")
    _ = try stage.get("/second/set")
    let status = try stage.control("status")
    #expect(status.components(separatedBy: "\"cookies\":1").count == 3, "counted, each in its jar")
    #expect(try stage.logOut().cut["cookies"] == 1)
    #expect(try stage.get("/second/x").text == "1 sid=JAR-second-")
    try stage.reload(try configuration(stage, workers: workers))
    #expect(try stage.get("/api/x").text == "none")
    #expect(try stage.get("/second/x").text == "1 sid=JAR-second-")
    assertUnseen(stage)
  }

  @Test(arguments: [1, 3])
  func `T34: a changed credential, perhaps of another person, sends none of the earlier cookies`(workers: Int)
    throws
  {
    let stage = try stage()
    try stage.start(try configuration(stage, workers: workers))
    _ = try stage.get("/api/set")
    _ = try stage.get("/second/set")
    // The upstream's response shows which value was sent.
    try stage.scratch.write("canary.token", "CANARY-another\n")
    let isForgotten = eventually {
      (0..<4).allSatisfy { _ in (try? stage.get("/api/x").text) == "none" }
    }
    #expect(isForgotten && stage.recorded.contains("CANARY-another"))
    let mixed = stage.recorded.components(separatedBy: "GET ").filter {
      $0.contains("CANARY-another") && $0.contains("JAR-")
    }
    #expect(mixed.isEmpty)
    #expect(try stage.get("/second/x").text == "1 sid=JAR-second-")
    assertUnseen(stage)
  }

  @Test func `T34: a reload keeps the cookies, unless the service no longer has a jar`() throws {
    let stage = try stage()
    try stage.start(try configuration(stage))
    _ = try stage.get("/api/set")
    try stage.reload(try configuration(stage, more: "limits: { connections: 200 }\n"))
    #expect(try stage.get("/api/x").text.hasPrefix("1 sid=JAR-first"))
    try stage.reload(try configuration(stage, jar: "strip"))
    #expect(try stage.get("/api/x").text == "none")
    try stage.reload(try configuration(stage))
    #expect(try stage.get("/api/x").text == "none")
    assertUnseen(stage)
  }
}
