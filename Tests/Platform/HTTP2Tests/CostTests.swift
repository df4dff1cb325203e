import HTTP2
import TestSupport
import Testing

/// The cost of the bytes that one read of a socket can return is linear, whatever they are (T60).
@Suite struct CostTests {
  /// Size of the event loop's read buffer.
  private static let read = 256 * 1024

  /// Input for a session. `first` is received before the measurement, and `number` counts the repetitions of `piece`.
  private static func walker(
    _ name: String, _ role: HTTP2Session.Role, streams: Int = 1, first: [UInt8] = [], nanoseconds: Double? = nil,
    _ piece: @escaping @Sendable (_ number: UInt32) -> [UInt8]
  ) -> Walker {
    Walker("HTTP2Session", "\(name) to a \(role)", upTo: read, nanoseconds: nanoseconds) { count in
      var bytes: [UInt8] = []
      var number: UInt32 = 0
      while bytes.count < count {
        bytes += piece(number)
        number += 1
      }
      bytes.removeLast(bytes.count - count)
      // One for each measurement.
      var sessions = try (0..<3).map { _ in try session(role, streams, first) }
      return {
        guard let session = sessions.popLast() else {
          Issue.record("no session")
          return
        }
        try? session.receive(bytes.span)
        while session.nextEvent() != nil {}
        try? session.send { _ in }
      }
    }
  }

  private static func session(_ role: HTTP2Session.Role, _ streams: Int, _ first: [UInt8]) throws -> HTTP2Session {
    var limits = HTTP2Limits()
    limits.streams = 1000
    let session = try HTTP2Session(role, limits: limits)
    let begin = (role == .server ? Raw.preface : []) + Raw.settings([(3, 1000)]) + Raw.settingsAck
    if role == .client {
      try session.send { _ in }
      try session.receive(begin.span)
      for _ in 0..<streams {
        try withFields(post) { (fields) throws(HTTP2Error) in
          _ = try session.sendRequest(fields, endsStream: false) { _ in }
        }
      }
      try session.receive(first.span)
    } else {
      try session.send { _ in }
      try session.receive((begin + (0..<UInt32(streams)).flatMap { Raw.headers(2 * $0 + 1, post, 4) } + first).span)
    }
    while session.nextEvent() != nil {}
    try session.send { _ in }
    return session
  }

  private static let ok = [(":status", "200")]
  /// An entry of the table with 4,000 bytes.
  private static let entry: [UInt8] = [0x40, 1, 0x61, 0x7F, 0xA1, 0x1E] + [UInt8](repeating: 0x62, count: 4000)

  private static let both: [Walker] = [HTTP2Session.Role.server, .client].flatMap { role in
    let begin = Raw.headers(1, role == .server ? post : ok, 4)
    let first = role == .server ? [] : begin
    return [
      walker("DATA of one byte", role, first: first) { _ in Raw.data(1, [1]) },
      walker(
        "DATA of one byte on many streams", role, streams: 900,
        first: role == .server ? [] : (0..<900).flatMap { Raw.headers(2 * $0 + 1, ok, 4) }
      ) { Raw.data(2 * ($0 % 900) + 1, [1]) },
      walker("empty DATA", role, first: first) { _ in Raw.data(1) },
      walker("padded DATA", role, first: first) { _ in Raw.data(1, [0, 1], 8) },
      walker("PING", role) { _ in Raw.ping },
      walker("SETTINGS", role, streams: 900) { Raw.settings([(4, 65_535 + $0)]) },
      walker("WINDOW_UPDATE", role, streams: 900) { Raw.windowUpdate(2 * ($0 % 900) + 1, 1) },
      walker("PRIORITY", role, streams: 900) { Raw.frame(2, 0, 2 * ($0 % 900) + 1, [0, 0, 0, 1, 1]) },
      walker("frames of unknown types", role) { _ in Raw.frame(0xEE) },
      walker("RST_STREAM", role, streams: 900) { Raw.reset(2 * ($0 % 900) + 1) },
      walker("a header block without an end", role, first: Raw.headers(role == .server ? 101 : 1, [], 0)) { _ in
        Raw.frame(9, 0, role == .server ? 101 : 1, [0x82])
      },
    ]
  }

  private static let heads: [Walker] = [
    walker("requests", .server) { Raw.headers(2 * $0 + 101) },
    walker("requests that are reset", .server) { Raw.headers(2 * $0 + 101) + Raw.reset(2 * $0 + 101) },
    walker("malformed requests", .server) { Raw.headers(2 * $0 + 101, [("a", "b")]) },
    walker("oversized requests", .server) { number in
      Raw.frame(1, 5, 2 * number + 101, Raw.block(get) + [UInt8](repeating: 0x90, count: 12_000))
    },
    walker("requests of many fields", .server) { number in
      Raw.frame(1, 5, 2 * number + 101, Raw.block(get) + [UInt8](repeating: 0x90, count: 120))
    },
    // The session ends after 1 MiB of decoded fields, which costs as much for 16 KiB of bytes as for 256 KiB.
    walker("requests that repeat a large field", .server, nanoseconds: 12) { number in
      Raw.frame(
        1, 5, 2 * number + 101, Raw.block(get) + (number == 0 ? entry : []) + [UInt8](repeating: 0xBE, count: 15))
    },
    walker("responses of many fields", .client, streams: 900) { number in
      Raw.frame(1, 4, 2 * (number % 900) + 1, Raw.block([(":status", "103")]) + [UInt8](repeating: 0x90, count: 1000))
    },
    walker("small interim responses", .client) { _ in Raw.frame(1, 4, 1, [8, 3, 0x31, 0x30, 0x33]) },
    walker("small responses", .client, streams: 900) { Raw.frame(1, 5, 2 * ($0 % 900) + 1, [0x88]) },
  ]

  @Test(arguments: both + heads)
  func `T60: the bytes of one read take linear time`(walker: Walker) throws {
    #expect(try walker.complaint() == nil, "\(walker)")
  }
}
