package import Primitives

/// Writes field lines, the form in which bearerd keeps the fields of a message that it is going to send. Each function
/// appends to `output`.
package enum FieldWriter {
  /// Writes `name: value` and the line end. Both must already be valid.
  package static func field(name: Span<UInt8>, value: Span<UInt8>, to output: inout ByteBuffer) {
    output.append(name)
    output.append(Byte.colon, Byte.space)
    output.append(value)
    lineEnd(to: &output)
  }

  /// Writes a parsed field, whose ranges point into `bytes`.
  package static func field(_ field: Field, of bytes: [UInt8], to output: inout ByteBuffer) {
    let bytes = bytes.span
    if let line = line(of: field, in: bytes) { return output.append(bytes.extracting(line)) }
    FieldWriter.field(name: bytes.extracting(field.name), value: bytes.extracting(field.value), to: &output)
  }

  /// Returns the range of the field's whole line, or `nil` if it does not have the form `name: value`.
  package static func line(of field: Field, in bytes: Span<UInt8>) -> Range<Int>? {
    let (colon, value) = (field.name.upperBound, field.value)
    guard value.lowerBound == colon &+ 2, value.upperBound &+ 2 <= bytes.count,
      bytes[colon] == Byte.colon, bytes[colon &+ 1] == Byte.space,
      bytes[value.upperBound] == Byte.carriageReturn, bytes[value.upperBound &+ 1] == Byte.lineFeed
    else { return nil }
    return field.name.lowerBound..<(value.upperBound &+ 2)
  }

  package static func field(name: String, value: Span<UInt8>, to output: inout ByteBuffer) {
    field(name: name.utf8.span, value: value, to: &output)
  }

  package static func lineEnd(to output: inout ByteBuffer) { output.append(Byte.carriageReturn, Byte.lineFeed) }
}
