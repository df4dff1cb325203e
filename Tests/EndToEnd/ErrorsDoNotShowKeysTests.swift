import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// Error responses of an upstream do not reveal the key, whatever their encoding (T64).
@Suite(.waits) struct ErrorsDoNotShowKeys {
  /// Each compressed byte decodes to a thousand bytes.
  @Test func `T64: a body that decodes to more than the limit is cut`() throws {
    let bomb = try run(["sh", "-c", "head -c 50000000 /dev/zero | gzip -9 | od -An -v -tx1"]).output
      .split(whereSeparator: \.isWhitespace).compactMap { UInt8($0, radix: 16) }
    let stage = try Stage { connection in
      guard connection.head() != nil else { return }
      connection.send("HTTP/1.1 404 N\r\nContent-Encoding: gzip\r\nContent-Length: \(bomb.count)\r\n\r\n")
      try? connection.write(bomb)
    }
    try stage.start(stage.configuration())
    let before = stage.observed.residentPeak
    let client = try stage.raw()
    try client.send(stage.head("GET"))
    _ = try client.head()
    #expect(
      stage.log.wait(for: .request, ["refused": "encoded-answer"]) && stage.log.contains(.request, ["aborted": "true"]))
    #expect(stage.observed.hasGrown(since: before, byLessThan: 4_000))
    stage.assertCanary(times: 1)
  }
}
