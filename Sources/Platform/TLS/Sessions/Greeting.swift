/// The first bytes that an upstream sends, up to eight.
struct Greeting {
  // No array, so that a connection needs no allocation for it.
  private var bits: UInt64 = 0
  private var count = 0

  mutating func append(_ input: Span<UInt8>) {
    for index in input.indices {
      guard count < 8 else { return }
      bits = bits << 8 | UInt64(input[index])
      count += 1
    }
  }

  var isEmpty: Bool { count == 0 }

  /// Whether the bytes begin a TLS record (RFC 8446 section 5.1). `true` for no bytes.
  var isTLS: Bool { bytes.first.map { (20...23).contains($0) } ?? true }

  /// The bytes in printable ASCII.
  var text: String {
    String(decoding: bytes.map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
  }

  private var bytes: [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: bits >> UInt64(8 * (count - 1 - $0))) }
  }
}
