/// Serialises parsed parts. Nothing is relayed: what goes out was taken apart first. All append to `output`.
package enum MessageWriter {
  /// `GET /path HTTP/1.1` and the line end.
  package static func requestLine(method: Span<UInt8>, target: Span<UInt8>, to output: inout [UInt8]) { fatalError() }
  /// `HTTP/1.1 200 OK` and the line end.
  package static func statusLine(_ status: Int, reason: Span<UInt8>, to output: inout [UInt8]) { fatalError() }
  /// `name: value` and the line end. Both are trusted to be valid: they come from a parsed head or a literal.
  package static func field(name: Span<UInt8>, value: Span<UInt8>, to output: inout [UInt8]) { fatalError() }
  /// `size` in hexadecimal and the line end; the data and `chunkEnd` follow.
  package static func chunkSize(_ size: Int, to output: inout [UInt8]) { fatalError() }
  package static func chunkEnd(to output: inout [UInt8]) { fatalError() }
  /// The last chunk, the trailers (ranges into `bytes`), and the closing empty line.
  package static func lastChunk(trailers: [Field], of bytes: [UInt8], to output: inout [UInt8]) { fatalError() }
  /// The empty line that ends a head.
  package static func endOfHead(to output: inout [UInt8]) { fatalError() }
}
