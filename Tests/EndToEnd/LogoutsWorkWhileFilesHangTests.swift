import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A logout while a file of a secret or the configuration hangs. Reads and reloads that began before the logout do not
/// bring the credential back (T46).
@Suite(.waits, .enabled(if: isRoot, "fanotify is for root"))
struct LogoutsWorkWhileFilesHang {
  private static let control = "control: control.sock\n"

  @Test func `T46: a value whose read began before a logout is not used`() throws {
    let stage = try Stage()
    try stage.start(try stage.addSecondCredential(in: stage.configuration(more: Self.control)))
    #expect(try stage.get().status == 200)
    let hung = try stage.hang("canary.token", "CANARY-on-its-way\n")
    #expect(hung.waitForOpen())
    try stage.logOut()
    hung.release()
    // Reads are in order: once the second credential has changed, the first file has been read, too.
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
  func `T46: a reload that began before a logout neither ends the logout nor requests a token`(workers: Int) throws {
    let stage = try TokenStage()
    stage.enableRevocation()
    let text = stage.configuration(more: stage.revocation, workers: workers)
    try stage.stage.start(try stage.stage.addSecondCredential(in: text))
    #expect(try stage.stage.get().status == 200)
    let hung = try stage.stage.hang("ca.pem", stage.stage.ca.pem, mode: 0o644)
    let reload = try LocalClient(unix: stage.stage.scratch.path + "/control.sock")
    try reload.send("reload\n")
    #expect(hung.waitForOpen())
    for name in ["canary", "second"] { try stage.stage.logOut(name) }
    hung.release()
    while try !reload.isAtEnd() { try reload.drain() }
    #expect(String(decoding: reload.received, as: UTF8.self) == "ok\n2\n")
    // Six connections reach all workers.
    let clients = try (0..<6).map { _ in try stage.stage.client() }
    for path in ["/api/x", "/second/x"] {
      for client in clients {
        try client.send(stage.stage.head("GET", path))
        #expect(try client.response().isRefused("login-required"))
      }
    }
    #expect(stage.tokens.requests.count == 2, "one for the token, and one that gave it back")
    #expect(try stage.stage.control("reload") == "ok\n3\n")
    for path in ["/api/x", "/second/x"] { #expect(try stage.stage.get(path).status == 200) }
    stage.assertSecrets(times: 2)
  }

  /// A crash while connections are being closed must not bring the login back. Therefore bearerd first stores the end
  /// of the login. A disk that does not respond delays the closing by one second.
  @Test func `T46: a logout stores the end of the login before it closes connections`() throws {
    let isWaiting = Gate()
    let stage = try TokenStage { connection in
      guard (try? connection.readRequest()) != nil else { return }
      isWaiting.open()
      connection.readToEnd()
    }
    stage.enableRevocation()
    try stage.start(TokenStage.person, more: stage.revocation)
    let client = try stage.stage.raw()
    try client.send(stage.stage.head("GET"))
    #expect(isWaiting.pass())
    let hung = try HungFile(stage.stage.scratch.path, hasFiles: true)
    let logout = try LocalClient(unix: stage.stage.scratch.path + "/control.sock")
    let waited = try seconds {
      try logout.send("logout canary\n")
      #expect(try client.response().body.contains("error:logged-out\""))
    }
    #expect(waited > 0.9, "cut before the login's end was recorded")
    hung.release()
    while try !logout.isAtEnd() { try logout.drain() }
    #expect(String(decoding: logout.received, as: UTF8.self).hasPrefix("ok\n"))
    stage.assertSecrets(times: 1)
  }
}
