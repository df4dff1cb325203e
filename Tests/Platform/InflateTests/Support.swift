import CZlib
import Inflate

/// Compresses with zlib, as a server would.
func compressed(_ bytes: [UInt8], gzip: Bool = true, level: Int32 = 6, windowBits: Int32? = nil) -> [UInt8] {
  var stream = z_stream()
  let window = windowBits ?? (gzip ? 31 : 15)
  let size = Int32(MemoryLayout<z_stream>.size)
  guard deflateInit2_(&stream, level, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY, zlibVersion(), size) == Z_OK else {
    return []
  }
  defer { deflateEnd(&stream) }
  var input = bytes
  var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))) + 64)
  let count = input.withUnsafeMutableBufferPointer { input in
    output.withUnsafeMutableBufferPointer { output in
      stream.next_in = input.baseAddress
      stream.avail_in = UInt32(input.count)
      stream.next_out = output.baseAddress
      stream.avail_out = UInt32(output.count)
      guard deflate(&stream, Z_FINISH) == Z_STREAM_END else { return 0 }
      return output.count - Int(stream.avail_out)
    }
  }
  return Array(output.prefix(count))
}

/// Decodes a body that arrives in pieces.
func decoded(
  _ pieces: [[UInt8]], _ coding: Inflater.Coding = .gzip
) throws(Inflater.Problem) -> (bytes: [UInt8], isWhole: Bool) {
  let inflater = try Inflater(coding)
  var bytes: [UInt8] = []
  for piece in pieces {
    guard
      try inflater.decode(
        piece.span,
        {
          bytes += $0; return true
        })
    else { return (bytes, false) }
  }
  return (bytes, inflater.isComplete)
}
