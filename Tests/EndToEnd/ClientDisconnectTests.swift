import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

@Suite(.waits) struct ClientDisconnectTests {

  @Test func `no connection or descriptor remains after hundreds of client resets`() throws {
    let stage = try Stage()
    try stage.start()
    #expect(try stage.get().status == 200)
    let before = stage.observed.descriptors
    let atFirst = stage.observed.sockets
    let head = try stage.head("GET")
    for number in 0..<500 {
      let client = try stage.raw()
      switch number % 5 {
      case 0: break
      case 1: try client.send(String(head.prefix(20)))
      case 2: try client.send(head)
      case 3: try client.send(head + head + head)
      default: try client.send(stage.head("PUT", fields: "Content-Length: 100000\r\n") + "abc")
      }
      client.reset()
    }
    #expect(try stage.get().status == 200)
    // There may be more idle upstream connections, but no more client connections.
    #expect(eventually { stage.observed.descriptors <= before + 70 })
    // bearerd has closed the sockets of all reset connections.
    #expect(eventually { stage.observed.sockets.subtracting(atFirst).subtracting(stage.observed.liveTCP).isEmpty })
    #expect(stage.daemon!.stop() == 0)
    #expect(stage.log.contains(.stopping, ["connections": 0]))
  }
}
