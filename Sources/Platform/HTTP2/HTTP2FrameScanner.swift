/// Follows the frames in the bytes of the peer (RFC 9113 section 4.1), and charges for them. nghttp2 does not report all frames:
/// for example, it hides frames of closed streams, and CONTINUATION frames of refused header blocks.
struct HTTP2FrameScanner {
  private static let headerSize = 9

  /// Bytes that come before the first frame.
  private var preface: Int
  private var payloadLeft = 0
  /// Bytes of the frame header that have arrived.
  private var filled = 0
  private var length = 0
  private var type: UInt8 = 0
  private var flags: UInt8 = 0
  private var stream: UInt32 = 0
  /// Whether a CONTINUATION frame must follow.
  private var isBlockOpen = false
  /// Bytes of the current header block, still compressed.
  private var blockBytes = 0
  /// Maximum of `blockBytes`. A compressed field can be longer than a decoded one, but not much longer.
  private let maximumBlock: Int

  init(preface: Int, headerBlock: Int) {
    self.preface = preface
    maximumBlock = 16_384 &+ 4 &* headerBlock
  }

  /// Whether a header block has begun to arrive, and its end has not arrived.
  var isInBlock: Bool { isBlockOpen || payloadLeft > 0 && (type == 0x1 || type == 0x9) }

  /// Scans frames until they cause `work` in total. Returns the number of scanned bytes, and why the connection must end, or `nil`.
  mutating func scan(
    _ bytes: UnsafeBufferPointer<UInt8>, work: Int, _ budget: inout HTTP2Budget
  ) -> (count: Int, error: HTTP2Error?) {
    var left = work
    var index = min(preface, bytes.count)
    preface -= index
    while index < bytes.count {
      if payloadLeft > 0 {
        let step = min(payloadLeft, bytes.count - index)
        payloadLeft -= step
        index += step
        continue
      }
      if left <= 0 { break }
      guard readHeader(bytes, &index) else { continue }
      let error = account(&budget)
      left -= frameWork(streams: budget.streams)
      (payloadLeft, length, filled) = (length, 0, 0)
      if let error { return (index, error) }
    }
    return (index, nil)
  }

  /// Reads a whole frame header, or a byte of one that has arrived in pieces. Returns whether the header is complete.
  @inline(__always)
  private mutating func readHeader(_ bytes: UnsafeBufferPointer<UInt8>, _ index: inout Int) -> Bool {
    if filled == 0, bytes.count &- index >= Self.headerSize {
      let header = UnsafeBufferPointer(rebasing: bytes[index..<index &+ Self.headerSize])
      length = Int(header[0]) << 16 | Int(header[1]) << 8 | Int(header[2])
      (type, flags) = (header[3], header[4])
      stream = UInt32(header[5]) << 24 | UInt32(header[6]) << 16 | UInt32(header[7]) << 8 | UInt32(header[8])
      index &+= Self.headerSize
      return true
    }
    let byte = bytes[index]
    index += 1
    switch filled {
    case 0...2: length = length << 8 | Int(byte)
    case 3: type = byte
    case 4: flags = byte
    default: stream = stream << 8 | UInt32(byte)
    }
    filled += 1
    return filled == Self.headerSize
  }

  /// About the work that a frame causes, for the owner of the session too.
  private func frameWork(streams: Int) -> Int {
    switch type {
    // A byte of HPACK can stand for a field.
    case 0x1, 0x9: 8 &+ length / 32
    case 0x3: 4
    case 0x4: 4 &+ streams / 64
    default: 1
    }
  }

  private mutating func account(_ budget: inout HTTP2Budget) -> HTTP2Error? {
    switch type {
    case 0x0:
      if length == 0, flags & 0x1 == 0 { budget.charge(.emptyData) }
      // Padding takes at most 256 bytes of a frame, so a longer frame also has data.
      if flags & 0x8 != 0, length <= 256 { budget.charge(.paddedData) }
    case 0x1:
      budget.charge(.head)
      blockBytes = length
      isBlockOpen = flags & 0x4 == 0
    case 0x2:
      budget.charge(.priority)
      // nghttp2 ignores all frames of this type (RFC 9113 section 6.3).
      if stream << 1 == 0 { return HTTP2Error(.protocolError, "the peer sent a PRIORITY frame on stream 0") }
    case 0x10: budget.charge(.priority)
    case 0x3: budget.charge(.peerReset)
    case 0x4: if flags & 0x1 == 0 { budget.charge(.settings) }
    case 0x5: return HTTP2Error(.protocolError, "the peer sent a PUSH_PROMISE frame, although server push is disabled")
    case 0x6: budget.charge(.ping)
    case 0x7: budget.charge(.goAway)
    case 0x8: budget.charge(.windowUpdate)
    case 0x9:
      budget.charge(length == 0 ? .emptyContinuation : .continuation)
      blockBytes += length
      isBlockOpen = flags & 0x4 == 0
    default: budget.charge(.unknown)
    }
    if blockBytes > maximumBlock {
      return HTTP2Error(.enhanceYourCalm, "the peer sent a header block of more than \(maximumBlock) bytes")
    }
    return budget.complaint.map { HTTP2Error(.enhanceYourCalm, $0) }
  }
}
