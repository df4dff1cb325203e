import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// An upgraded connection forwards every byte at the pace of the slower side.
@Suite(.inProcess) struct UpgradedBytesPassUnchanged {
  @Test func `10 MB pass in both directions simultaneously if the client reads slowly`() throws {
    let stage = try Stage(handler: Stage.echoing())
    try stage.start()
    let client = try stage.upgraded(receiveBuffer: 16_384)
    let isSent = Gate()
    DispatchQueue.global().async {
      try? Pattern.write(10 << 20) { try client.send($0) }
      isSent.open()
    }
    var check = Pattern.Check()
    while check.count < 10 << 20, case let bytes = try client.read(maximum: 4_096), !bytes.isEmpty {
      check.compare(bytes)
    }
    #expect(check.isRight && check.count == 10 << 20 && isSent.pass())
    client.close()
    #expect(stage.log.wait(for: .request, ["status": 101, "up": 10485760, "down": 10485760]))
  }

  @Test func `bytes that directly follow the two heads belong to the upgraded stream`() throws {
    let stage = try Stage { connection in
      guard let (_, first) = connection.head() else { return }
      connection.switchProtocols("down")
      guard first.isEmpty, let up = try? connection.read() else { return }
      connection.send(" heard \(String(decoding: up, as: UTF8.self))")
    }
    try stage.start()
    let client = try stage.raw()
    try client.send(stage.head("GET", fields: Stage.upgradeFields) + "up")
    #expect(try client.head().hasPrefix("HTTP/1.1 101 "))
    #expect(client.rest() == (Array("down heard up".utf8), .clean))
    stage.assertCanary(times: 1)
  }
}
