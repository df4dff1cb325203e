import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// With a systemd socket unit, the port and the Unix socket stay bound during a restart, and new connections wait.
@Suite(.waits) struct PortsStayBoundAcrossRestarts {
  private static let inherited = "address: systemd:main"

  @Test(arguments: [SIGTERM, SIGKILL])
  func `T5: a client that connects while bearerd is down is served, and no other program gets the port`(_ signal: Int32)
    throws
  {
    let stage = try Stage()
    let unit = SocketUnit()
    let port = try unit.listen("main")
    #expect(chmod(stage.scratch.path, 0o755) == 0)
    let path = stage.scratch.path + "/held.sock"
    try unit.listen("main", path: path, mode: 0o666)
    let configuration = stage.configuration(listener: Self.inherited)
    try stage.start(unit, configuration)
    #expect(try stage.daemon!.port() == port)
    #expect(try stage.get("/api/before").status == 200)
    // On the inherited Unix socket, SO_PEERCRED identifies callers.
    if isRoot {
      #expect(try stage.sendRequest(as: [], unix: path).output.hasPrefix("HTTP/1.1 200 "))
      #expect(try stage.sendRequest(as: Stage.user(12_345), unix: path).output.hasPrefix("HTTP/1.1 403 "))
      #expect(stage.log.wait(for: .request, ["help": .naming("allow_users: [root, 12345]")]))
    }
    for round in 1...3 {
      _ = stage.daemon!.stop(signal)
      #expect(access(path, F_OK) == 0)
      // bearerd is not running, so the connection waits in the kernel.
      let waiting = try stage.client()
      try waiting.send("GET /api/between-\(round) HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n")
      #expect(throws: (any Error).self) { _ = try SocketUnit().listen("squatter", port: port) }
      try stage.start(unit, configuration)
      #expect(try waiting.response().status == 200)
    }
    #expect(stage.recorded.contains("GET /base/between-3 "))
    stage.assertCanary(times: isRoot ? 5 : 4)
  }
}
