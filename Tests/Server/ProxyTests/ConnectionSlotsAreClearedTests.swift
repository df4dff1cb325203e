import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// Connection slots are reused. No data of one connection may reach the next (T34).
@Suite(.inProcess) struct ConnectionSlotsAreCleared {
  /// Inputs that end a connection in the middle of an exchange.
  @Test(arguments: [
    "GET /api/left HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer mine\r\nX-Half",
    "GET /api/left HTTP/1.1\r\nHost: localhost\r\nBad field\r\n\r\n",
    "TRACE /api/left HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    "PUT /api/left HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nabc",
  ])
  func `T34: a reused slot keeps no data of an aborted connection`(left: String) throws {
    let stage = try Stage()
    let daemon = try stage.start()
    let port = try daemon.port()
    for round in 1...3 {
      let first = try stage.raw()
      try first.send(left.replacingOccurrences(of: "Host: localhost", with: "Host: localhost:\(port)"))
      first.shutdownSending()
      _ = first.rest()
      first.close()

      // The log line of this request must not contain the path or status of the last request.
      let second = try stage.raw()
      try second.send(" \r\n\r\n")
      let refusal = try second.response()
      #expect(refusal.head.hasPrefix("HTTP/1.1 400 "))
      #expect(!refusal.body.contains("left"))
      second.close()

      let third = try stage.raw()
      for number in 1...2 {
        try third.send("GET /api/own-\(round)-\(number) HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n")
        #expect(try third.response().head.hasPrefix("HTTP/1.1 200 "))
        #expect(daemon.log.wait(for: .request, ["path": "/api/own-\(round)-\(number)", "status": 200]))
      }
      third.close()
    }
    let refused = daemon.log.lines(of: .request, ["reason": .present]).filter {
      !$0.fields.contains { $0.value.contains("left") }
    }
    #expect(refused.allSatisfy { $0["path"] == nil && $0["service"] == nil })
    #expect(daemon.stop() == 0)
  }
}
