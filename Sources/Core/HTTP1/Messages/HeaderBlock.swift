internal import Primitives

/// The decoded header block of an HTTP/2 message: its head, or its trailers (RFC 9113 section 8.1).
package struct HeaderBlock: Sendable {
  /// One field, as ranges into `bytes`. The name of a pseudo-header field begins with a colon.
  package struct Line: Sendable, Equatable {
    package let name: Range<Int>
    package let value: Range<Int>
  }

  /// Whole lines, as in HTTP/1.1, and then unused bytes.
  package private(set) var bytes: [UInt8] = []
  private var used = 0
  package private(set) var lines: [Line] = []

  package init() {}

  /// Removes the fields and overwrites them with zeros (T50). Keeps the memory, unless it is large.
  package mutating func wipe() {
    let written = 0..<min(used, bytes.count)
    var all = bytes.mutableSpan
    var part = all._mutatingExtracting(written)
    part.update(repeating: 0)
    if bytes.count > 4_096 { bytes = [] }
    lines.removeAll(keepingCapacity: !bytes.isEmpty && lines.capacity <= 64)
    used = 0
  }

  /// Whether the block has memory for the fields of another message.
  package var hasMemory: Bool { !bytes.isEmpty }

  /// Returns `size` and the number of fields.
  @discardableResult
  package mutating func append(name: Span<UInt8>, value: Span<UInt8>) -> (size: Int, fields: Int) {
    let (start, end) = (used, used &+ name.count)
    let (first, last) = (end &+ 2, end &+ 2 &+ value.count)
    used = last &+ 2
    if used > bytes.count { grow(to: used) }
    copy(name, to: start..<end)
    copy(value, to: first..<last)
    bytes[end] = Byte.colon
    bytes[end &+ 1] = Byte.space
    bytes[last] = Byte.carriageReturn
    bytes[last &+ 1] = Byte.lineFeed
    lines.append(Line(name: start..<end, value: first..<last))
    return (size, lines.count)
  }

  @inline(__always)
  private mutating func copy(_ text: Span<UInt8>, to range: Range<Int>) {
    var all = bytes.mutableSpan
    var part = all._mutatingExtracting(range)
    part.copy(from: text)
  }

  private mutating func grow(to needed: Int) {
    if bytes.isEmpty {
      // Enough for most heads.
      bytes = [UInt8](repeating: 0, count: max(needed, 512))
      lines.reserveCapacity(12)
    } else {
      var larger = [UInt8](repeating: 0, count: max(needed, 2 &* bytes.count))
      var all = larger.mutableSpan
      var part = all._mutatingExtracting(0..<bytes.count)
      part.copy(from: bytes.span)
      // The fields may have tokens (T50).
      var old = bytes.mutableSpan
      old.update(repeating: 0)
      bytes = larger
    }
  }

  /// The size that a peer's limit counts, in bytes: 32 more for each field (RFC 9113 section 6.5.2).
  package var size: Int { used &+ 28 &* lines.count }

  /// Maximum size of the text of this block in bytes, unless cookies are joined.
  var roomNeeded: Int { used &+ 192 }

  /// The range of the lines from `first` on.
  func text(from first: Int) -> Range<Int> { first < lines.count ? lines[first].name.lowerBound..<used : used..<used }
}
