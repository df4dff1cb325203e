import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

/// `cookies: jar`: what an upstream sets belongs to one credential and one origin, and no program ever sees it (T34).
@Suite(.waits) struct CookieJars {
  /// Sets what the path says, under the name of whoever asks, and answers with the cookies that it got.
  private static let handler: @Sendable (UpstreamConnection) -> Void = { connection in
    while let request = try? connection.readRequest() {
      let path = request.text.split(separator: " ")[1]
      let lines = request.text.components(separatedBy: "\r\n").filter { $0.lowercased().hasPrefix("cookie:") }
      let token = request.text.components(separatedBy: "Authorization: Bearer ").last?.components(separatedBy: "\r\n")[
        0]
      let whose = token == Stage.secondSecret ? "second" : token.map { "first-\($0.count)" } ?? "nobody"
      var fields = ""
      if path.hasSuffix("/set") { fields = "Set-Cookie: sid=JAR-\(whose)-\(secret); Path=/; HttpOnly\r\n" }
      if path.hasSuffix("/end") { fields = "Set-Cookie: sid=; Path=/; Max-Age=0\r\n" }
      if path.hasSuffix("/hostile") { fields = hostile }
      connection.answer(
        lines.joined(separator: "|").isEmpty ? "none" : "\(lines.count) \(known(lines))", fields: fields)
    }
  }
  private static let secret = UUID().uuidString

  /// What came, without what no program may see.
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

  /// Cookies say who it is as much as the credential does.
  @Test func `T34: a request that goes out bare has no cookie, and what it is answered fills no jar`() throws {
    let heard = Guarded<[String]>([])
    let stage = try Stage { connection in
      while let request = try? connection.readRequest() {
        heard.withLock { $0.append(request.text) }
        let isBare = !request.text.contains("\r\nAuthorization: ")
        let fields = "Set-Cookie: sid=JAR-\(isBare ? "bare" : "whole"); Path=/\r\n"
        let (status, challenge) = isBare ? ("401 Unauthorized", "WWW-Authenticate: Bearer\r\n") : ("200 OK", "")
        connection.answer("", status: status, fields: fields + challenge)
      }
    }
    try stage.start(
      stage.configuration(
        service: "cookies: jar", credential: "bearer: { file: canary.token }\n    mode: challenge"))
    for _ in 0..<2 { #expect(try stage.get().status == 200) }
    let requests = heard.withLock(\.self)
    #expect(requests.map { $0.contains("Authorization: ") } == [false, true, false, true])
    #expect(requests.map { $0.contains("Cookie: ") } == [false, false, false, true])
    #expect(!stage.recorded.contains("JAR-bare"))
    stage.assertCanary(times: 2)
  }

  /// `api` and `second`, each with its credential and a jar.
  private func configuration(_ stage: Stage, workers: Int = 1, jar: String = "jar", more: String = "") throws -> String
  {
    try stage.second(
      in: stage.configuration(service: "cookies: \(jar)", more: "control: control.sock\nworkers: \(workers)\n\(more)")
    )
    .replacing("credential: second }", with: "credential: second, cookies: \(jar) }")
  }

  /// No client and no log got a value.
  private func assertUnseen(_ stage: Stage) {
    #expect(stage.recorded.contains("JAR-"), "the upstream gets it back")
    stage.assertCanary(times: 0, as: "JAR-nobody", secret: Self.secret)
  }

  @Test(arguments: [1, 3])
  func `T34: two credentials on one host, 200 requests in any order: each gets its own cookies and no program one`(
    workers: Int
  ) throws {
    let stage = try stage()
    try stage.start(try configuration(stage, workers: workers))
    let first = "1 sid=JAR-first-\(stage.canary.count)-"
    let clients = try (0..<6).map { _ in try stage.client() }
    #expect(try stage.get("/api/x").text == "none")
    #expect(try stage.get("/api/set").values("Set-Cookie").isEmpty)
    // The next one by any connection, so by any worker, has it.
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
        let answer = try client.response()
        #expect(answer.status == 200 && answer.values("Set-Cookie").isEmpty)
        #expect(answer.text == (service == "api" ? first : "1 sid=JAR-second-"))
      }
    }
    for client in clients { #expect(!String(decoding: client.received, as: UTF8.self).contains(Self.secret)) }
    assertUnseen(stage)
  }

  @Test func `T34: another origin never gets one, nor a service of the same origin without a jar`() throws {
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

  @Test func `T34: it goes out until it ends, and below its path`() throws {
    let stage = try stage()
    try stage.start(try configuration(stage))
    _ = try stage.get("/api/set")
    #expect(try stage.get("/api/end").text.hasPrefix("1 sid="))
    #expect(try stage.get("/api/x").text == "none")
    assertUnseen(stage)
  }

  @Test func `T43: of hostile lines none is kept, and none of a parent's domain`() throws {
    let stage = try stage()
    try stage.start(try configuration(stage))
    _ = try stage.get("/api/hostile")
    #expect(try stage.get("/api/x").text == "1 good=\"quoted and, spaced\"")
  }

  @Test(arguments: [1, 3])
  func `T46: a logout empties the jar of that credential alone`(workers: Int) throws {
    let stage = try stage()
    try stage.start(try configuration(stage, workers: workers))
    _ = try stage.get("/api/set")
    _ = try stage.get("/second/set")
    let status = try stage.control("status")
    #expect(status.components(separatedBy: "\"cookies\":1").count == 3, "counted, each in its jar")
    #expect(try stage.logOut().cut["cookies"] == 1)
    if isRoot, !isSanitized {
      let pid = stage.daemon!.pid
      let value = "JAR-first-\(stage.canary.count)-\(Self.secret)"
      #expect(try ForeignMemory.places(of: value, in: pid, isEverywhere: true) == [])
      #expect(try ForeignMemory.places(of: "JAR-second-\(Self.secret)", in: pid) == [], "the other one is locked away")
      #expect(try ForeignMemory.places(of: "JAR-second-\(Self.secret)", in: pid, isEverywhere: true) != [])
    }
    #expect(try stage.get("/second/x").text == "1 sid=JAR-second-")
    try stage.reload(try configuration(stage, workers: workers))
    #expect(try stage.get("/api/x").text == "none")
    #expect(try stage.get("/second/x").text == "1 sid=JAR-second-")
    assertUnseen(stage)
  }

  @Test(arguments: [1, 3])
  func `T34: another value of the credential, which may be another person's, has none of its cookies`(workers: Int)
    throws
  {
    let stage = try stage()
    try stage.start(try configuration(stage, workers: workers))
    _ = try stage.get("/api/set")
    _ = try stage.get("/second/set")
    // Of the same length: only the upstream's answer says whose it is.
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

  @Test func `T34: a reload keeps a jar, unless the service has none any more`() throws {
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
