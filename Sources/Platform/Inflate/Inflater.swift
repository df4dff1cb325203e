internal import CZlib
internal import Glibc
internal import System

/// Decodes a compressed body (RFC 9110 section 8.4.1) piece by piece, and wipes the memory that it used.
package final class Inflater {
  package enum Coding: Sendable {
    /// The gzip format (RFC 1952).
    case gzip
    /// The zlib format (RFC 1950), or raw deflate data (RFC 1951) as some servers send it.
    case deflate
  }

  package enum Problem: Error { case malformed, tooLarge, noMemory }

  // Compressed data can grow a thousandfold. Most error pages are smaller than this limit, and decoding this much takes
  // less than a millisecond.
  /// Default limit for the size of a decoded body, in bytes.
  package static let maximumDecodedSize = 262_144
  // Some servers flush small pieces. Decoding many short blocks is slow.
  /// Number of deflate blocks that may have any length.
  static let freeBlocks = 64
  // The blocks of usual compressors are four times as long.
  /// Minimum average length, in decoded bytes, of the blocks after `freeBlocks`.
  static let blockLength = 4_096

  private let stream: UnsafeMutablePointer<z_stream>
  private let output: UnsafeMutableRawBufferPointer
  private let maximumDecodedSize: Int
  private var decoded = 0
  private var blocks = 0
  private var hasBegun = false
  private var hasEnded = false
  private var isFormatUnknown: Bool
  /// The first byte of a `deflate` body, until the second byte shows the format; otherwise `nil`.
  private var first: UInt8?

  private static let pieceSize = 16_384
  /// The bit of zlib's `data_type` that is set at the end of a block.
  private static let afterBlock: Int32 = 128
  private static let lastBlock: Int32 = 64

  package init(_ coding: Coding, maximumDecodedSize: Int = Inflater.maximumDecodedSize) throws(Problem) {
    self.maximumDecodedSize = maximumDecodedSize
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    stream.initialize(to: z_stream())
    stream.pointee.zalloc = { _, count, size in WipedMemory.allocate(Int(count), of: Int(size)) }
    stream.pointee.zfree = { _, memory in WipedMemory.free(memory) }
    // The largest window, which any body may need. Adding 16 accepts only gzip.
    let window = coding == .gzip ? MAX_WBITS + 16 : MAX_WBITS
    guard inflateInit2_(stream, window, zlibVersion(), Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
      stream.deallocate()
      throw .noMemory
    }
    self.stream = stream
    isFormatUnknown = coding == .deflate
    output = .allocate(byteCount: Self.pieceSize, alignment: 16)
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
    if let start = output.baseAddress { explicit_bzero(start, output.count) }
    output.deallocate()
  }

  /// Whether decoding has reached the end of the compressed data, or the body is empty.
  package var isComplete: Bool { !hasBegun || hasEnded }

  /// Decodes the next piece. Returns `false` if `receive` has stopped the decoding.
  /// - Parameter receive: called with decoded bytes, at most 16 KiB at a time. Returns `false` to stop.
  package func decode(_ piece: Span<UInt8>, _ receive: (UnsafeRawBufferPointer) -> Bool) throws(Problem) -> Bool {
    // Also decodes several concatenated bodies (RFC 1952 section 2.2).
    if isFormatUnknown, piece.count > 0 {
      hasBegun = true
      if let first {
        let start: [UInt8] = [first, piece[0]]
        try detectFormat(start[0], start[1])
        guard try inflate(start.span, receive) else { return false }
        return try inflate(piece.extracting(1...), receive)
      }
      guard piece.count > 1 else {
        first = piece[0]
        return true
      }
      try detectFormat(piece[0], piece[1])
    }
    return try inflate(piece, receive)
  }

  /// Detects from the first two bytes whether a body has the zlib format (RFC 1950 section 2.2) or is raw deflate data.
  private func detectFormat(_ method: UInt8, _ flags: UInt8) throws(Problem) {
    // Method, window and check bits. Raw data from compressors begins with other bytes.
    isFormatUnknown = false
    let isWrapped =
      method & 0x0F == UInt8(Z_DEFLATED) && method >> 4 <= 7 && (Int(method) << 8 | Int(flags)) % 31 == 0
    if !isWrapped, inflateReset2(stream, -MAX_WBITS) != Z_OK { throw .malformed }
  }

  private func inflate(_ piece: Span<UInt8>, _ receive: (UnsafeRawBufferPointer) -> Bool) throws(Problem) -> Bool {
    var failure: Problem?
    var shouldContinue = true
    piece.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
      hasBegun = true
      // zlib only reads this memory.
      stream.pointee.next_in = UnsafeMutablePointer(mutating: start.assumingMemoryBound(to: UInt8.self))
      stream.pointee.avail_in = UInt32(clamping: bytes.count)
      do throws(Problem) { shouldContinue = try run(receive) } catch { failure = error }
      stream.pointee.next_in = nil
      stream.pointee.avail_in = 0
    }
    if let failure { throw failure }
    return shouldContinue
  }

  private func run(_ receive: (UnsafeRawBufferPointer) -> Bool) throws(Problem) -> Bool {
    while true {
      if hasEnded {
        if stream.pointee.avail_in == 0 { return true }
        guard inflateReset(stream) == Z_OK else { throw .malformed }
        hasEnded = false
      }
      stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
      stream.pointee.avail_out = UInt32(output.count)
      // Stops after each block.
      let status = CZlib.inflate(stream, Z_BLOCK)
      let count = output.count - Int(stream.pointee.avail_out)
      decoded += count
      if stream.pointee.data_type & Self.afterBlock != 0 { blocks += 1 }
      guard decoded <= maximumDecodedSize, blocks <= Self.freeBlocks + decoded / Self.blockLength else {
        throw .tooLarge
      }
      if count > 0, !receive(UnsafeRawBufferPointer(rebasing: output[..<count])) { return false }
      switch status {
      case Z_STREAM_END: hasEnded = true
      // No more output without more input.
      case Z_BUF_ERROR: return true
      case Z_OK:
        // After its last block, a stream without a checksum ends at the next call, without more input.
        let isLast = stream.pointee.data_type & Self.afterBlock != 0 && stream.pointee.data_type & Self.lastBlock != 0
        if stream.pointee.avail_in == 0, stream.pointee.avail_out > 0, !isLast { return true }
      case Z_MEM_ERROR: throw .noMemory
      default: throw .malformed
      }
    }
  }
}
