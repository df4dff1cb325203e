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
    bytes.wipe()
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
      let more = max(needed, 2 &* bytes.count) &- bytes.count
      bytes += [UInt8](repeating: 0, count: more)
    }
  }

  /// Replaces an `:authority` that is the escaped path of a Unix socket, such as `run%2Fbearerd.sock`, by `localhost`. The C
  /// library of gRPC sends this authority to a Unix socket.
  package mutating func replaceSocketPath() {
    let name = ":authority".utf8
    guard let index = lines.firstIndex(where: { bytes[$0.name].elementsEqual(name) }) else { return }
    let path = bytes[lines[index].value]
    guard path.allSatisfy({ Grammar.isToken($0) }), HeaderBlock.hasEscapedSlash(path) else { return }
    let start = bytes.count
    bytes += Array("localhost".utf8)
    lines[index] = Line(name: lines[index].name, value: start..<bytes.count)
  }

  /// Whether the path has `%2F`. A host name never has.
  private static func hasEscapedSlash(_ path: ArraySlice<UInt8>) -> Bool {
    path.indices.contains { path[$0...].starts(with: "%2F".utf8) || path[$0...].starts(with: "%2f".utf8) }
  }

  /// The size that a peer's limit counts, in bytes: 32 more for each field (RFC 9113 section 6.5.2).
  package var size: Int { used &+ 28 &* lines.count }

  /// Maximum size of the text of this block in bytes, unless cookies are joined.
  var roomNeeded: Int { used &+ 64 }

  /// The range of the lines from `first` on.
  func text(from first: Int) -> Range<Int> { first < lines.count ? lines[first].name.lowerBound..<used : used..<used }
}
