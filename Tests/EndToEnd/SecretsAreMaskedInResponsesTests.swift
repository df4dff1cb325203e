import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A credential that an upstream repeats in its response is masked (T33).
@Suite(.waits) struct SecretsAreMaskedInResponses {
  /// Contains characters that the encodings escape.
  private static let secret = "CANARY-x7Kq/9+dE3~~~~Zw2/hL+4="

  private static let stars = String(repeating: "*", count: secret.utf8.count)

  /// The size of a body in bytes. The default is 10 MiB. `BEARERD_LOAD_MIB` sets another size.
  private static let load = (ProcessInfo.processInfo.environment["BEARERD_LOAD_MIB"].flatMap { Int($0) } ?? 10) << 20

  /// Sends the body with each kind of framing.
  @Test(arguments: ["Transfer-Encoding: chunked\r\n", "Content-Length: \(load)\r\n", ""])
  func `T33: a body without the secret passes unchanged, in constant memory`(framing: String) throws {
    let load = Self.load
    let stage = try Stage { connection in
      guard connection.head() != nil else { return }
      connection.send("HTTP/1.1 200 OK\r\n\(framing)\r\n")
      try? Pattern.write(load, piece: 65_536) { piece in
        if framing.hasPrefix("T") { connection.send(String(piece.count, radix: 16) + "\r\n") }
        try connection.write(piece)
        if framing.hasPrefix("T") { connection.send("\r\n") }
      }
      if framing.hasPrefix("T") { connection.send("0\r\n\r\n") }
    }
    try stage.start(stage.configuration(service: "redact: all"))
    let client = try stage.raw()
    try client.send(stage.head("GET"))
    let head = try client.head()
    let before = stage.observed.residentPeak
    var check = Pattern.Check()
    if head.contains("chunked") {
      try client.chunks { check.compare($0) }
    } else {
      while check.count < load { check.compare(try client.read()) }
    }
    #expect(check.count == load && check.isRight)
    #expect(stage.observed.hasGrown(since: before, byLessThan: 4_000))
    stage.assertCanary(times: 1)
  }

  @Test func `T33: a body that repeats the secret everywhere is masked completely, in constant memory`() throws {
    // The body repeats one line. Pieces that are read contain many lines.
    let count = Self.stars.utf8.count + 1
    let block = String(repeating: Self.secret + "\n", count: 1_000)
    let blocks = Self.load / block.utf8.count
    let stage = try Stage { connection in
      guard connection.head() != nil else { return }
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(blocks * block.utf8.count)\r\n\r\n")
      for _ in 0..<blocks where (try? connection.write(Array(block.utf8))) == nil { return }
    }
    try stage.scratch.write("canary.token", Self.secret)
    try stage.start(stage.configuration(service: "redact: all"))
    let client = try stage.raw()
    try client.send(stage.head("GET"))
    _ = try client.head()
    let before = stage.observed.residentPeak
    let masked = Array(String(repeating: Self.stars + "\n", count: 1_000 + 65_536 / count + 1).utf8)
    var read = 0
    var isMasked = true
    while isMasked, read < blocks * block.utf8.count {
      let piece = try client.read()
      isMasked = !piece.isEmpty && masked[(read % count)...].starts(with: piece)
      read += piece.count
    }
    #expect(isMasked && read == blocks * block.utf8.count)
    #expect(stage.observed.hasGrown(since: before, byLessThan: 4_000))
    client.close()
    stage.assertCanary(times: 1, secret: Self.secret)
  }
}
