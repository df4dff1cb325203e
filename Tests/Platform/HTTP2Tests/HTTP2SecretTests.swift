import Glibc
import HTTP2
import TestSupport
import Testing

/// Credentials in heads.
@Suite struct HTTP2SecretTests {
  @Test func `a sensitive field is encoded as never indexed, and each time in full`() throws {
    let client = try Peer(.client)
    client.flush()
    client.output = []
    var sizes: [Int] = []
    for _ in 0..<3 {
      let sensitive = [("!x-key", "~~~~"), ("!authorization", "~~~~"), ("!cookie", "~~~~")]
      _ = try client.request(get + sensitive + [("x-open", "~~~~~~")])
      let frames = Raw.parse(client.output)
      client.output = []
      #expect(frames.map(\.type) == [1])
      let block = frames[0].payload
      sizes.append(block.count)
      // Literal never indexed (RFC 7541 section 6.2.3): the index of a name in four bits, here 23 and 32, or a new name.
      let text = [UInt8]("~~~~".utf8)
      #expect(block.count(of: [0x1F, 23 - 15, 4] + text) == 1)
      #expect(block.count(of: [0x1F, 32 - 15, 4] + text) == 1)
      #expect(block.count(of: [0x10]) == 1 && block.count(of: [4] + text) == 3)
    }
    // The other fields are indexed, so later heads are smaller.
    #expect(sizes[0] > sizes[1] && sizes[1] == sizes[2])
  }

  @Test(.enabled(if: !isSanitized)) func `no memory holds a credential after its head was sent`() async {
    await #expect(processExitsWith: .success) {
      let client = try Peer(.client)
      client.flush()
      for first in [UInt8(ascii: "a"), UInt8(ascii: "#")] {
        let masked = (0..<40).map { (first + UInt8($0 * 7 % 26)) ^ 0x80 }
        let field = UnsafeMutableRawBufferPointer.allocate(byteCount: masked.count, alignment: 1)
        for (index, byte) in masked.enumerated() { field[index] = byte ^ 0x80 }
        var sent: [UInt8] = []
        try withFields([("x-large", String(repeating: "~", count: 30_000)), ("authorization", "")] + get) {
          fields throws(HTTP2Error) in
          let credential = HTTP2Field(name: fields[1].name, value: UnsafeRawBufferPointer(field), isSensitive: true)
          _ = try client.session.sendRequest(fields[2...] + [fields[0], credential], endsStream: true) { piece in
            for byte in piece { sent.append(byte ^ 0x80) }
          }
        }
        guard occurrences(of: masked, by: { $0 ^ 0x80 }) == 1 else { exit(1) }
        explicit_bzero(field.baseAddress!, field.count)
        guard occurrences(of: masked, by: { $0 ^ 0x80 }) == 0 else { exit(2) }
        // The end of the head is the encoded credential, with or without Huffman's code.
        guard sent.count > 30_000, occurrences(of: [UInt8](sent.suffix(24)), by: { $0 ^ 0x80 }) == 0 else { exit(3) }
        field.deallocate()
      }
    }
  }

  @Test(.enabled(if: !isSanitized), arguments: ["x-own", "Upper", "x-large"])
  func `T50: no memory holds the token of a request after its head was used or refused`(last: String) async {
    await #expect(processExitsWith: .success) { [last = last as String] in
      var limits = HTTP2Limits()
      limits.headerBlock = 4_096
      let session = try HTTP2Session(.server, limits: limits)
      try session.send { _ in }
      let masked = (0..<40).map { (UInt8(ascii: "a") + UInt8($0 * 7 % 26)) ^ 0x80 }
      // The header block outgrows its memory after the token.
      let fields = [
        ("x-first", String(repeating: "x", count: 400)), ("authorization", String(repeating: "~", count: 40)),
      ]
      let rest = [
        ("x-long", String(repeating: "x", count: 1_000)),
        (last, String(repeating: "x", count: last == "x-large" ? 5_000 : 1)),
      ]
      let frames = Raw.preface + Raw.settings() + Raw.headers(1, get + fields + rest)
      let input = UnsafeMutableRawBufferPointer.allocate(byteCount: frames.count, alignment: 1)
      input.copyBytes(from: frames)
      guard let start = input.firstIndex(of: UInt8(ascii: "~")) else { exit(1) }
      for (index, byte) in masked.enumerated() { input[start + index] = byte ^ 0x80 }
      guard occurrences(of: masked, by: { $0 ^ 0x80 }) == 1 else { exit(2) }
      try session.receive(Span<UInt8>(_unsafeBytes: UnsafeRawBufferPointer(input)))
      var events = 0
      while let event = session.nextEvent() {
        switch event {
        case .head, .refused: events += 1
        default: break
        }
      }
      try session.send { _ in }
      explicit_bzero(input.baseAddress!, input.count)
      guard events == 1 else { exit(3) }
      guard occurrences(of: masked, by: { $0 ^ 0x80 }) == 0 else { exit(4) }
    }
  }

  @Test func `the memory of the fields is not used after a request was refused`() throws {
    let raw = try RawPeer(.client)
    #expect(raw.exchange(Raw.settings([(3, 2)])).error == nil)
    #expect(raw.peer.session.maximumStreams == 2 && !raw.peer.session.canSendRequest)
    // `request` overwrites and frees the fields.
    #expect { try raw.peer.request() } throws: { ($0 as? HTTP2Error)?.endsConnection == false }
    #expect(raw.exchange(Raw.settings([(3, 9)])).frames.allSatisfy { $0.type == 4 })
    #expect(raw.peer.session.canSendRequest)
    // Larger than nghttp2 takes.
    let large = [("x-large", String(repeating: "~", count: 1 << 21))]
    #expect { try raw.peer.request(get + large) } throws: { ($0 as? HTTP2Error)?.endsConnection == false }
    #expect(raw.exchange([]).frames.isEmpty && raw.peer.session.openStreams == 2)
    #expect(try raw.peer.request() == 5)
    #expect(raw.exchange(Raw.headers(5, [(":status", "200")])).error == nil)
    #expect(raw.peer.streams[5]?.isEnded == true)
  }
}

extension [UInt8] {
  /// How often `other` occurs.
  func count(of other: [UInt8]) -> Int {
    guard count >= other.count else { return 0 }
    return (0...count - other.count).count { self[$0..<$0 + other.count].elementsEqual(other) }
  }
}
