import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// An upgraded connection forwards every byte at the pace of the slower side, in constant memory.
@Suite(.waits) struct UpgradedBytesPassUnchanged {
  static let count = 24 << 20

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
    while check.count < 10 << 20, case let bytes = try client.read(maximum: 4_096), !bytes.isEmpty { check.compare(bytes) }
    #expect(check.isRight && check.count == 10 << 20 && isSent.pass())
    client.close()
    #expect(stage.log.wait(for: .request, ["status": 101, "up": 10485760, "down": 10485760]))
  }

  @Test func `T54: a client that reads late gets all bytes of an upgraded connection, in constant memory`() throws {
    let written = Counter()
    let stage = try Stage { connection in
      guard connection.head() != nil else { return }
      connection.switchProtocols()
      try? Pattern.write(Self.count, piece: 65_536) {
        try connection.write($0)
        written.add($0.count)
      }
    }
    try stage.start()
    let client = try stage.upgraded(receiveBuffer: 16_384)
    let before = stage.observed.residentPeak
    var seen = -1
    #expect(
      eventually {
        defer { seen = written.count }
        return written.count == seen && !eventually(seconds: 0.2) { written.count != seen }
      })
    #expect(written.count < Self.count)
    var check = Pattern.Check()
    while check.count < Self.count, case let bytes = try client.read(maximum: 65_536), !bytes.isEmpty { check.compare(bytes) }
    #expect(check.isRight && check.count == Self.count && client.rest() == ([], .clean))
    #expect(stage.observed.hasGrown(since: before, byLessThan: 4_000))
    stage.assertCanary(times: 1)
  }

  /// Bytes that the client sends before the response wait, too.
  @Test(arguments: [true, false])
  func `T54: an upstream that reads or responds late gets all bytes, in constant memory`(respondsFirst: Bool) throws {
    let begins = Gate()
    let stage = try Stage { connection in
      guard let (_, first) = connection.head(), first.isEmpty else { return }
      if respondsFirst { connection.switchProtocols() }
      begins.pass()
      if !respondsFirst { connection.switchProtocols() }
      var check = Pattern.Check()
      while check.count < Self.count, let more = try? connection.read(maximum: 262_144), !more.isEmpty {
        check.compare(more)
      }
      connection.send("\(check.count) \(check.isRight)")
    }
    try stage.start()
    let client = try stage.raw()
    let before = stage.observed.residentPeak
    try client.send(stage.head("GET", fields: Stage.upgradeFields))
    var sent = 0
    // Send until the socket accepts no bytes for a while.
    while sent < Self.count,
      eventually(
        seconds: 0.3,
        {
          let more = client.sendWithoutWaiting(Pattern.bytes(at: sent, count: min(65_536, Self.count - sent)))
          sent += more
          return more > 0
        })
    {}
    #expect(sent < Self.count)
    begins.open()
    while sent < Self.count {
      let piece = Pattern.bytes(at: sent, count: min(65_536, Self.count - sent))
      try client.send(piece)
      sent += piece.count
    }
    _ = try client.head()
    #expect(client.rest() == (Array("\(Self.count) true".utf8), .clean))
    #expect(stage.observed.hasGrown(since: before, byLessThan: 4_000))
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
