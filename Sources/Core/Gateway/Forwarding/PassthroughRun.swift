internal import HTTP1
internal import Primitives

/// Collects consecutive lines of a head that are forwarded unchanged, and copies them together. Call `flush` before
/// other text is written.
struct PassthroughRun {
  private var lines = 0..<0

  /// Adds lines to the run. Writes the earlier lines first if they are not directly before the new ones.
  /// - Parameter range: whole lines with their line ends, after all lines that were added before.
  mutating func add(_ range: Range<Int>, of bytes: Span<UInt8>, to output: inout ByteBuffer) {
    if range.lowerBound == lines.upperBound {
      lines = lines.lowerBound..<range.upperBound
    } else {
      flush(bytes, to: &output)
      lines = range
    }
  }

  mutating func add(_ field: Field, of bytes: Span<UInt8>, to output: inout ByteBuffer) {
    if let line = FieldWriter.line(of: field, in: bytes) { return add(line, of: bytes, to: &output) }
    flush(bytes, to: &output)
    FieldWriter.field(name: bytes.extracting(field.name), value: bytes.extracting(field.value), to: &output)
  }

  mutating func flush(_ bytes: Span<UInt8>, to output: inout ByteBuffer) {
    if lines.isEmpty { return }
    output.append(bytes.extracting(lines))
    // An empty range at 0: no added line begins there.
    lines = 0..<0
  }
}
