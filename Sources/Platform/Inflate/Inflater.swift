internal import CZlib
internal import Glibc

/// Decodes one compressed body (RFC 9110 section 8.4.1), piece by piece, in constant memory. What it decodes may hold a secret:
/// its memory is wiped when it ends.
package final class Inflater {
  package enum Coding: Sendable {
    /// RFC 1952.
    case gzip
    /// RFC 1950, which HTTP calls deflate, or RFC 1951 without any wrapper, which some servers send under that name. The
    /// first two bytes tell.
    case deflate
  }

  package enum Problem: Error { case malformed, tooLarge, noMemory }

  /// Bytes that one body may decode to if nothing else is asked for: a few can become a thousand times as many. Most error pages
  /// are shorter, and all of it is less than a millisecond of work.
  package static let mostDecoded = 262_144
  /// Each block can have its own codes, whose tables cost as much as thousands of bytes. So many are free, for servers that
  /// flush small pieces; others have to be as long as this on average. Compressors make them four times as long.
  static let freeBlocks = 64
  static let blockLength = 4_096

  /// zlib keeps its address.
  private let stream: UnsafeMutablePointer<z_stream>
  private let place: UnsafeMutableRawBufferPointer
  private let mostDecoded: Int
  private var decoded = 0
  private var blocks = 0
  private var hasBegun = false
  private var hasEnded = false
  /// The form of the body is not known yet.
  private var isOpen: Bool
  /// The first byte of such a body.
  private var first: UInt8?

  /// How much is decoded at once.
  private static let pieceSize = 16_384
  /// Bits of zlib's `data_type`.
  private static let behindBlock: Int32 = 128
  private static let lastBlock: Int32 = 64

  /// - Parameter mostDecoded: bytes that the body may decode to.
  package init(_ coding: Coding, mostDecoded: Int = Inflater.mostDecoded) throws(Problem) {
    self.mostDecoded = mostDecoded
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    stream.initialize(to: z_stream())
    stream.pointee.zalloc = { _, count, size in WipedMemory.allocate(Int(count) * Int(size)) }
    stream.pointee.zfree = { _, memory in WipedMemory.free(memory) }
    // The larger window, which any body may need; 16 more: gzip alone.
    let window = coding == .gzip ? MAX_WBITS + 16 : MAX_WBITS
    guard inflateInit2_(stream, window, zlibVersion(), Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
      stream.deallocate()
      throw .noMemory
    }
    self.stream = stream
    isOpen = coding == .deflate
    place = .allocate(byteCount: Self.pieceSize, alignment: 16)
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
    if let start = place.baseAddress { explicit_bzero(start, place.count) }
    place.deallocate()
  }

  /// Whether nothing is missing: the body ended where its coding says, or is empty.
  package var isWhole: Bool { !hasBegun || hasEnded }

  /// Decodes the next piece. Of several bodies behind one another (RFC 1952 section 2.2) each is decoded.
  /// - Parameter take: gets what came out, as often as there is something, each time at most 16 KiB. False: it goes no further.
  /// - Returns: false: `take` wanted no more.
  package func decode(_ piece: Span<UInt8>, _ take: (UnsafeRawBufferPointer) -> Bool) throws(Problem) -> Bool {
    if isOpen, piece.count > 0 {
      hasBegun = true
      if let first {
        let start: [UInt8] = [first, piece[0]]
        try choose(start[0], start[1])
        guard try inflate(start.span, take) else { return false }
        return try inflate(piece.extracting(1...), take)
      }
      guard piece.count > 1 else {
        first = piece[0]
        return true
      }
      try choose(piece[0], piece[1])
    }
    return try inflate(piece, take)
  }

  /// Decides by its first two bytes whether a body has zlib's wrapper: its method, its window and its check (RFC 1950 section
  /// 2.2). Without the wrapper, compressors begin with other bytes.
  private func choose(_ method: UInt8, _ flags: UInt8) throws(Problem) {
    isOpen = false
    let isWrapped =
      method & 0x0F == UInt8(Z_DEFLATED) && method >> 4 <= 7 && (Int(method) << 8 | Int(flags)) % 31 == 0
    if !isWrapped, inflateReset2(stream, -MAX_WBITS) != Z_OK { throw .malformed }
  }

  private func inflate(_ piece: Span<UInt8>, _ take: (UnsafeRawBufferPointer) -> Bool) throws(Problem) -> Bool {
    var failure: Problem?
    var isTaken = true
    piece.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
      hasBegun = true
      // zlib only reads there.
      stream.pointee.next_in = UnsafeMutablePointer(mutating: start.assumingMemoryBound(to: UInt8.self))
      stream.pointee.avail_in = UInt32(clamping: bytes.count)
      do throws(Problem) { isTaken = try run(take) } catch { failure = error }
      stream.pointee.next_in = nil
      stream.pointee.avail_in = 0
    }
    if let failure { throw failure }
    return isTaken
  }

  private func run(_ take: (UnsafeRawBufferPointer) -> Bool) throws(Problem) -> Bool {
    while true {
      if hasEnded {
        if stream.pointee.avail_in == 0 { return true }
        guard inflateReset(stream) == Z_OK else { throw .malformed }
        hasEnded = false
      }
      stream.pointee.next_out = place.baseAddress?.assumingMemoryBound(to: UInt8.self)
      stream.pointee.avail_out = UInt32(place.count)
      // Stops behind each block.
      let status = CZlib.inflate(stream, Z_BLOCK)
      let count = place.count - Int(stream.pointee.avail_out)
      decoded += count
      if stream.pointee.data_type & Self.behindBlock != 0 { blocks += 1 }
      guard decoded <= mostDecoded, blocks <= Self.freeBlocks + decoded / Self.blockLength else {
        throw .tooLarge
      }
      if count > 0, !take(UnsafeRawBufferPointer(rebasing: place[..<count])) { return false }
      switch status {
      case Z_STREAM_END: hasEnded = true
      // Nothing more comes of what is there.
      case Z_BUF_ERROR: return true
      case Z_OK:
        // Behind the last block, a stream without a sum ends at the next call, without more input.
        let isLast = stream.pointee.data_type & Self.behindBlock != 0 && stream.pointee.data_type & Self.lastBlock != 0
        if stream.pointee.avail_in == 0, stream.pointee.avail_out > 0, !isLast { return true }
      case Z_MEM_ERROR: throw .noMemory
      default: throw .malformed
      }
    }
  }
}
