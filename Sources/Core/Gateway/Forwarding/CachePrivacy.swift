internal import HTTP1
internal import Primitives

/// Marks the response to a request with an added credential as private (T37).
///
/// A cache between the program and bearerd sees no `Authorization`, so the rule of RFC 9111 §3.5 does not protect the
/// response.
struct CachePrivacy {
  /// Whether the response needs a `Cache-Control` field that restricts shared caches.
  let isNeeded: Bool
  /// The last `Cache-Control` field, which is written after the other fields. `nil` if there is none.
  private var held: Field?
  /// `true` if a directive already says whether shared caches may store the response.
  private var isDecided = false

  init(isNeeded: Bool) { self.isNeeded = isNeeded }

  /// Whether `hold` must receive the field.
  @inline(__always)
  func concerns(_ field: Field, of bytes: Span<UInt8>) -> Bool {
    guard isNeeded, field.name.count == 13, case .other = field.known else { return false }
    return FieldName.matches(field.name, of: bytes, "cache-control")
  }

  /// Writes the `Cache-Control` field before this one, and keeps `field` for `finish`.
  @inline(never)
  mutating func hold(_ field: Field, of bytes: Span<UInt8>, to output: inout ByteBuffer) {
    if let held { write(held, of: bytes, to: &output) }
    held = field
    guard !isDecided else { return }
    var elements = ListElements(field.value)
    while !isDecided, let element = elements.next(in: bytes) { isDecided = CachePrivacy.decides(element, of: bytes) }
  }

  /// Writes the last `Cache-Control` field, with `private` if no directive decides.
  func finish(_ bytes: Span<UInt8>, to output: inout ByteBuffer) {
    guard isNeeded else { return }
    if held == nil { output.append("Cache-Control: private\r\n") } else { writeHeld(bytes, to: &output) }
  }

  @inline(never)
  private func writeHeld(_ bytes: Span<UInt8>, to output: inout ByteBuffer) {
    if isDecided {
      if let held { write(held, of: bytes, to: &output) }
    } else if let held, !held.value.isEmpty {
      // The new directive comes first, so that an unterminated quoted string cannot swallow it.
      output.append("Cache-Control: private, ")
      output.append(bytes.extracting(held.value))
      FieldWriter.lineEnd(to: &output)
    } else {
      output.append("Cache-Control: private\r\n")
    }
  }

  private func write(_ field: Field, of bytes: Span<UInt8>, to output: inout ByteBuffer) {
    FieldWriter.field(name: bytes.extracting(field.name), value: bytes.extracting(field.value), to: &output)
  }

  /// Whether the directive forbids shared caches to store the response, or explicitly allows it. A directive `private`
  /// with field names concerns only these fields (RFC 9111 §5.2.2.7).
  private static func decides(_ directive: Range<Int>, of bytes: Span<UInt8>) -> Bool {
    if directive.count > 8, bytes[directive.lowerBound &+ 8] == UInt8(ascii: "=") {
      return FieldName.matches(directive.lowerBound..<(directive.lowerBound &+ 8), of: bytes, "s-maxage")
    }
    return FieldName.matches(directive, of: bytes, "private") || FieldName.matches(directive, of: bytes, "no-store")
      || FieldName.matches(directive, of: bytes, "public")
  }
}
