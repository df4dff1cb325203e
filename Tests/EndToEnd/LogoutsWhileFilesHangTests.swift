import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A logout while a file of a secret, or of a configuration, does not answer. Whatever was asked for before it brings nothing back
/// (T46).
@Suite(.waits, .enabled(if: isRoot, "fanotify is for root"))
struct LogoutsWhileFilesHang {
  private static let control = "control: control.sock\n"

  /// Writes a file that hangs, and moves it into the place of another.
  private func hang(_ name: String, _ content: String, in stage: Stage, mode: mode_t = 0o600) throws -> HungFile {
    let path = try stage.scratch.write("hung", content, mode: mode)
    let file = try HungFile(path)
    #expect(rename(path, stage.scratch.path + "/" + name) == 0)
    return file
  }

  @Test func `T46: a value that was on its way already`() throws {
    let stage = try Stage()
    try stage.start(try stage.second(in: stage.configuration(more: Self.control)))
    #expect(try stage.get().status == 200)
    let hung = try hang("canary.token", "CANARY-on-its-way\n", in: stage)
    #expect(hung.isAsked())
    try stage.logOut()
    hung.release()
    // It is read; afterwards another one is, which is in use then.
    for _ in 0..<3 { #expect(try stage.get().isRefused("login-required")) }
    try stage.scratch.write("second.token", "SECOND-anew")
    #expect(stage.log.wait(for: .credentialChanged, ["credential": "second"]))
    for _ in 0..<3 { #expect(try stage.get().isRefused("login-required")) }
    try stage.scratch.write("canary.token", "CANARY-another\n")
    #expect(eventually { (try? stage.get().status) == 200 })
    #expect(!stage.recorded.contains("CANARY-on-its-way"))
    stage.assertCanary(times: 1)
  }

  @Test(arguments: [1, 3])
  func `T46: a reload that was asked for before`(workers: Int) throws {
    let stage = try Stage()
    let text = try stage.second(in: stage.configuration(more: Self.control + "workers: \(workers)\n"))
    try stage.start(text)
    #expect(try stage.get().status == 200)
    let hung = try hang("ca.pem", stage.ca.pem, in: stage, mode: 0o644)
    let reload = try LocalClient(unix: stage.scratch.path + "/control.sock")
    try reload.send("reload\n")
    #expect(hung.isAsked())
    try stage.logOut()
    hung.release()
    while try !reload.isAtEnd() { try reload.drain() }
    #expect(String(decoding: reload.received, as: UTF8.self) == "ok\n2\n")
    let clients = try (0..<6).map { _ in try stage.client() }
    for client in clients {
      try client.send(stage.head("GET", "/api/x"))
      #expect(try client.response().isRefused("login-required"))
    }
    #expect(try stage.get("/second/x").status == 200)
    #expect(try stage.control("reload") == "ok\n3\n")
    #expect(try stage.get().status == 200)
    stage.assertCanary(times: 2)
  }

  @Test func `T46: no token by a reload of before`() throws {
    let stage = try TokenStage()
    stage.revokes()
    try stage.start(more: stage.revocation)
    #expect(try stage.stage.get().status == 200)
    let hung = try hang("ca.pem", stage.stage.ca.pem, in: stage.stage, mode: 0o644)
    let reload = try LocalClient(unix: stage.stage.scratch.path + "/control.sock")
    try reload.send("reload\n")
    #expect(hung.isAsked())
    try stage.stage.logOut()
    hung.release()
    while try !reload.isAtEnd() { try reload.drain() }
    #expect(String(decoding: reload.received, as: UTF8.self) == "ok\n2\n")
    for _ in 0..<3 { #expect(try stage.stage.get().isRefused("login-required")) }
    #expect(stage.tokens.requests.count == 2, "one for the token, and one that gave it back")
    #expect(try stage.stage.control("reload") == "ok\n3\n")
    #expect(try stage.stage.get().status == 200)
    stage.assertSecrets(times: 2)
  }

  /// A crash while connections are being cut must not bring the login back, so the end of the login is on the disk by then. A disk that
  /// does not answer delays the cut by a second.
  @Test func `T46: a stored login has ended before the connections that use it are cut`() throws {
    let isHolding = Gate()
    let stage = try TokenStage { connection in
      guard (try? connection.readRequest()) != nil else { return }
      isHolding.open()
      connection.readToEnd()
    }
    stage.revokes()
    try stage.start(TokenStage.person, more: stage.revocation)
    let client = try stage.stage.raw()
    try client.send(stage.stage.head("GET"))
    #expect(isHolding.pass())
    let hung = try HungFile(stage.stage.scratch.path, hasFiles: true)
    let logout = try LocalClient(unix: stage.stage.scratch.path + "/control.sock")
    let waited = try seconds {
      try logout.send("logout canary\n")
      #expect(try client.answer().body.contains("error:logged-out\""))
    }
    #expect(waited > 0.9, "cut before the login's end was recorded")
    hung.release()
    while try !logout.isAtEnd() { try logout.drain() }
    #expect(String(decoding: logout.received, as: UTF8.self).hasPrefix("ok\n"))
    stage.assertSecrets(times: 1)
  }
}
