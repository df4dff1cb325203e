internal import HTTP1
internal import Primitives

/// Lines of a head that go on byte for byte, gathered as long as one follows the other: one copy for all of them. Whatever else
/// is written between them is written after `flush`.
struct PassthroughRun {
  private var lines = 0..<0

  /// - Parameter range: whole lines with their ends, behind all that were added before.
  mutating func add(_ range: Range<Int>, of bytes: Span<UInt8>, to output: inout ByteBuffer) {
    if range.lowerBound == lines.upperBound {
      lines = lines.lowerBound..<range.upperBound
    } else {
      flush(bytes, to: &output)
      lines = range
    }
  }

  mutating func add(_ field: Field, of bytes: Span<UInt8>, to output: inout ByteBuffer) {
    if let line = MessageWriter.line(of: field, in: bytes) { return add(line, of: bytes, to: &output) }
    flush(bytes, to: &output)
    MessageWriter.field(name: bytes.extracting(field.name), value: bytes.extracting(field.value), to: &output)
  }

  mutating func flush(_ bytes: Span<UInt8>, to output: inout ByteBuffer) {
    if lines.isEmpty { return }
    output.append(bytes.extracting(lines))
    // Nothing begins behind it that was not added.
    lines = 0..<0
  }
}
