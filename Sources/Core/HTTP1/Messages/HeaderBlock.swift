internal import Primitives

/// The decoded header block of an HTTP/2 message: its head, or its trailers (RFC 9113 section 8.1).
package struct HeaderBlock: Sendable {
  /// One field, as ranges into `bytes`. The name of a pseudo-header field begins with a colon.
  package struct Line: Sendable, Equatable {
    package let name: Range<Int>
    package let value: Range<Int>
  }

  /// Names and values, one after another.
  package private(set) var bytes: [UInt8] = []
  package private(set) var lines: [Line] = []

  package init() {}

  package mutating func append(name: Span<UInt8>, value: Span<UInt8>) {
    let start = bytes.count
    bytes.append(name)
    let middle = bytes.count
    bytes.append(value)
    lines.append(Line(name: start..<middle, value: middle..<bytes.count))
  }

  /// The size that a peer's limit counts, in bytes: 32 more for each field (RFC 9113 section 6.5.2).
  package var size: Int { bytes.count &+ 32 &* lines.count }
}
