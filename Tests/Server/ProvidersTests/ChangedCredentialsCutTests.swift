import Foundation
import Log
import ServerSupport
import StatusModel
import TestServer
import TestSupport
import Testing

/// `on_change: cut`: another value of a credential ends what the old value opened.
@Suite(.inProcess) struct ChangedCredentialsCut {
  private static let next = "NEXT-" + UUID().uuidString

  /// An upstream that echoes on a WebSocket, and never responds at `/hang`.
  private static func handler(_ hanging: Gate) -> @Sendable (AcceptedConnection) -> Void {
    { connection in
      while let request = try? connection.readRequest() {
        if request.text.contains("\r\nUpgrade: websocket\r\n") {
          connection.switchProtocols()
          connection.echo()
          return
        }
        if request.path.hasSuffix("/hang") {
          hanging.open()
          connection.readToEnd()
          return
        }
        connection.respond("hello")
      }
    }
  }

  @Test(arguments: [("file", 1), ("file", 3), ("reload", 1), ("reload", 3)])
  func `another value cuts requests, WebSockets and idle connections of the old value`(way: String, workers: Int) throws
  {
    let hanging = Gate()
    let stage = try Stage(handler: Self.handler(hanging))
    try stage.scratch.write("other.token", Self.next + "\n")
    let text = stage.withSecondCredential().replacing(
      "bearer: { file: canary.token }", with: "bearer: { file: canary.token }\n    on_change: cut")
    try stage.scratch.write("second.token", "SECOND-" + UUID().uuidString + "\n")
    let configuration = text + "\nworkers: \(workers)\n"
    try stage.start(configuration)
    #expect(try stage.get().status == 200)
    let socket = try stage.upgraded("/api/ws")
    let other = try stage.upgraded("/second/ws")
    #expect(try stage.echoes(socket) && stage.echoes(other))
    let request = try stage.raw()
    try request.send(stage.head("GET", "/api/hang"))
    #expect(hanging.pass())

    if way == "file" {
      try stage.scratch.write("canary.token", Self.next + "\n")
    } else {
      try stage.reload(configuration.replacing("file: canary.token", with: "file: other.token"))
    }
    let refused = try request.response()
    #expect(refused.head.contains(" 503 ") && refused.body.contains("error:credential-replaced\""), "\(refused)")
    #expect(socket.rest().ending != .silent)
    #expect(try stage.echoes(other, "still here"))
    #expect(stage.log.wait(for: .credentialCut, ["credential": "canary"]))
    #expect(
      stage.upstream.wait { records in
        records.filter { String(decoding: $0.bytes, as: UTF8.self).contains(stage.canary) }.allSatisfy(\.isFinished)
      })
    // The new value works, and nothing cuts its requests.
    try request.send(stage.head("GET", "/api/x"))
    #expect(try request.response().head.contains(" 200 "))
    #expect(stage.lastToken == Self.next)
    let later = try stage.upgraded("/api/ws")
    #expect(try stage.echoes(later))
  }

  @Test func `the same value, and another value without on_change, cut nothing`() throws {
    let stage = try Stage(handler: Self.handler(Gate()))
    try stage.start()
    let socket = try stage.upgraded("/api/ws")
    try stage.scratch.write("canary.token", Self.next + "\n")
    #expect(stage.waitForSecret(version: 2))
    #expect(try stage.echoes(socket))

    let cut = stage.configuration(credential: "bearer: { file: canary.token }\n    on_change: cut")
    try stage.reload(cut)
    let second = try stage.upgraded("/api/ws")
    try stage.scratch.write("canary.token", Self.next + "\n")
    try stage.reload(cut + "\n# again\n")
    #expect(try stage.echoes(second))
    #expect(!stage.log.contains(.credentialCut, ["credential": "canary"]))
  }

  /// - Parameter isChanged: whether the client secret changes before the token is replaced.
  @Test(arguments: [false, true])
  func `a renewed OAuth token cuts nothing, and a token from another client secret does`(isChanged: Bool) throws {
    let good = Guarded(Set<String>())
    let stage = try TokenStage { connection in
      while let request = try? connection.readRequest() {
        if request.text.contains("\r\nUpgrade: websocket\r\n") {
          connection.switchProtocols()
          connection.echo()
          return
        }
        if good.withLock({ good in good.isEmpty || good.contains { request.text.contains($0) } }) {
          connection.respond("hello")
        } else {
          connection.respond("expired", status: "401 Unauthorized", fields: "WWW-Authenticate: Bearer\r\n")
        }
      }
    }
    stage.tokens.respond(with: [.token(stage.stage.canary, expiresIn: 3600), .token(Self.next, expiresIn: 3600)])
    let text = stage.configuration().replacing("    oauth2:", with: "    on_change: cut\n    oauth2:")
    try stage.stage.start(text)
    let socket = try stage.stage.upgraded("/api/ws")
    #expect(try stage.stage.echoes(socket))
    if isChanged {
      try stage.stage.scratch.write("client.secret", "ANOTHER-" + UUID().uuidString + "\n")
      try stage.stage.reload(text + "\n# again\n")
      #expect(try stage.stage.echoes(socket), "the old token is still in use")
    }
    good.withLock { $0 = [Self.next] }
    #expect(try stage.stage.get().status == 200)
    if isChanged {
      #expect(stage.log.wait(for: .credentialCut, ["credential": "canary", "requests": "1"]))
      #expect(socket.rest().ending != .silent)
    } else {
      #expect(try stage.stage.echoes(socket))
      #expect(!stage.log.contains(.credentialCut, ["credential": "canary"]))
    }
    #expect(stage.tokens.requests.count == 2)
  }
}
