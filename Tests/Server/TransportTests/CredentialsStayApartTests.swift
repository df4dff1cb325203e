import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

/// Two credentials on one host, used by the same clients in any order, never share a connection (T25).
@Suite(.inProcess) struct CredentialsStayApart {
  private static let second = "SECOND-secret"

  /// Names the credential of a request, sets a cookie, and closes each connection after seven requests, so that
  /// sessions are resumed.
  private static let handler: @Sendable (AcceptedConnection) -> Void = { connection in
    for number in 1...7 {
      guard let request = try? connection.readRequest() else { return }
      let whose = request.text.contains("Bearer \(second)\r\n") ? "second" : "api"
      let path = request.text.split(separator: " ")[1]
      connection.respond(
        "\(whose) \(path)",
        fields: "Set-Cookie: whose=\(whose)\r\n" + (number == 7 ? "Connection: close\r\n" : ""))
    }
  }

  @Test(arguments: [0x0303, 0x0304] as [Int32])
  func `T25: two credentials on one host share no connection, TLS session or cookie`(
    _ version: Int32
  ) throws {
    var options = UpstreamServer.Options()
    options.tlsVersion = version
    let stage = try Stage(options: options, handler: Self.handler)
    try stage.scratch.write("second.token", Self.second)
    try stage.start(stage.withSecondCredential())
    let clients = try (0..<4).map { _ in try stage.client() }
    let port = try stage.daemon!.port()
    // Both services over every client connection, in a reproducible random order.
    var state: UInt32 = 1
    for round in 0..<250 {
      let paths = clients.indices.map { client in
        state = state &* 1_664_525 &+ 1_013_904_223
        return (state >> 16) % 2 == 0 ? "api/\(round)-\(client)" : "second/\(round)-\(client)"
      }
      for (client, path) in zip(clients, paths) {
        try client.send("GET /\(path) HTTP/1.1\r\nHost: localhost:\(port)\r\nCookie: whose=other\r\n\r\n")
      }
      for (client, path) in zip(clients, paths) {
        let response = try client.response()
        let parts = path.split(separator: "/")
        #expect(response.status == 200 && response.text == "\(parts[0]) /base/\(parts[1])")
        #expect(response.values("Set-Cookie").isEmpty)
      }
    }
    try check(stage, stage.upstream.records)
  }

  @Test func `T25: a short request contains nothing of a preceding long request`() throws {
    let stage = try Stage { connection in
      while let request = try? connection.readRequest() {
        let marks = request.text.components(separatedBy: "X-Mark: ").dropFirst().map {
          $0.components(separatedBy: "\r\n")[0]
        }
        let mark = marks.joined(separator: ",")
        let rest = request.text.utf8.count + request.body.count - 2 * mark.utf8.count
        connection.respond("\(mark) \(rest)", fields: "X-Back: \(mark)\r\n")
      }
    }
    try stage.scratch.write("second.token", Self.second)
    try stage.start(stage.withSecondCredential())
    let clients = try (0..<4).map { _ in try stage.client() }
    let port = try stage.daemon!.port()
    var rests: [String: Set<String>] = [:]
    for round in 0..<40 {
      let requests = clients.indices.map { client in
        let mark = String(repeating: ["a", "b", "c", "d"][client], count: [9_000, 4, 700, 1][(round + client) % 4])
        return (path: (round / 4 + client) % 2 == 0 ? "api" : "second", mark: mark)
      }
      for (client, request) in zip(clients, requests) {
        let chunk = "\(String(request.mark.count, radix: 16))\r\n\(request.mark)\r\n"
        try client.send(
          "POST /\(request.path)/x HTTP/1.1\r\nHost: localhost:\(port)\r\nX-Mark: \(request.mark)\r\n"
            + "Transfer-Encoding: chunked\r\n\r\n\(chunk)0\r\n\r\n")
      }
      for (client, request) in zip(clients, requests) {
        let response = try client.response()
        let parts = response.text.split(separator: " ")
        #expect(parts.count == 2 && parts[0] == request.mark && response.values("X-Back") == [request.mark])
        rests[request.path, default: []].insert(String(parts.last ?? ""))
      }
    }
    #expect(rests["api"]?.count == 1 && rests["second"]?.count == 1, "but for their marks all are alike: \(rests)")
    let first = stage.recorded.components(separatedBy: "Bearer \(stage.canary)\r\n").count - 1
    stage.assertCanary(times: first)
    stage.assertCanary(times: 160 - first, secret: Self.second)
  }

  /// Asserts that each connection had one credential, also the connection from which its session was resumed.
  private func check(_ stage: Stage, _ records: [UpstreamServer.Record]) throws {
    var identities: [String] = []
    var resumed: [String: Int] = [:]
    for record in records {
      let tokens = Set(
        String(decoding: record.bytes, as: UTF8.self).components(separatedBy: "Authorization: Bearer ").dropFirst()
          .compactMap { $0.components(separatedBy: "\r\n").first })
      #expect(tokens.count == 1, "one identity to a connection: \(tokens.count)")
      identities.append(try #require(tokens.first))
      guard record.isResumed else { continue }
      let source = try #require(record.resumedFrom)
      #expect(identities[source] == identities[record.connection], "\(source) gave its session to \(record.connection)")
      resumed[identities[source], default: 0] += 1
    }
    #expect(Set(identities) == [stage.canary, Self.second])
    #expect(resumed.count == 2, "both resume sessions, their own: \(resumed.values)")
    #expect(records.count < 250, "and connections are kept")
    let recorded = stage.recorded
    #expect(!recorded.contains("Cookie"))
    let first = recorded.components(separatedBy: "Bearer \(stage.canary)\r\n").count - 1
    #expect(first + recorded.components(separatedBy: "Bearer \(Self.second)\r\n").count - 1 == 1000)
    stage.assertCanary(times: first)
    stage.assertCanary(times: 1000 - first, secret: Self.second)
  }
}
