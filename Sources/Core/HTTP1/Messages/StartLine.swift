import Primitives

/// Parses the request line as it arrives (RFC 9112 §3).
struct RequestLine: Sendable {
  private(set) var method = Method.other
  private(set) var methodRange = 0..<0
  private(set) var target = 0..<0
  private(set) var version = Version.http11

  private enum Phase { case method, target, version }
  private var phase = Phase.method
  private var position = 0

  private static let tlsHandshakeRecord: UInt8 = 0x16

  /// Parses the request line. Returns the position after it, or `nil` if it is incomplete.
  @inline(__always)
  mutating func scan(_ bytes: Span<UInt8>, targetLimit: Int) throws(MessageError) -> Int? {
    switch phase {
    case .method:
      guard try scanMethod(bytes) else { return nil }
      phase = .target
      fallthrough
    case .target:
      guard try scanTarget(bytes, limit: targetLimit) else { return nil }
      phase = .version
      fallthrough
    case .version:
      return try scanVersion(bytes)
    }
  }

  @inline(__always)
  private mutating func scanMethod(_ bytes: Span<UInt8>) throws(MessageError) -> Bool {
    var end = 0
    var word: UInt64 = 0
    while end < bytes.count, Grammar.isToken(bytes[end]) {
      guard end < Self.methodBytes else { throw MessageError(.badMethod) }
      word = word << 8 | UInt64(bytes[end])
      end &+= 1
    }
    guard end < bytes.count else { return false }
    guard bytes[end] == Byte.space, end > 0 else {
      if bytes[end] == Byte.lineFeed { throw MessageError(.bareLineFeed) }
      if end == 0, bytes[0] == Self.tlsHandshakeRecord { throw MessageError(.tlsHandshake) }
      throw MessageError(bytes[end] == Byte.carriageReturn ? .badRequestLine : .badMethod)
    }
    method = Method(word)
    methodRange = 0..<end
    position = end &+ 1
    return true
  }

  @inline(__always)
  private mutating func scanTarget(_ bytes: Span<UInt8>, limit: Int) throws(MessageError) -> Bool {
    let start = methodRange.upperBound &+ 1
    let (sum, overflows) = start.addingReportingOverflow(limit)
    let furthest = overflows ? bytes.count : Swift.min(sum, bytes.count)
    position = Scanning.endOfTarget(bytes.extracting(first: furthest), from: position)
    guard position < bytes.count else { return false }
    let byte = bytes[position]
    if byte == Byte.space {
      guard position > start else { throw MessageError(.badRequestLine) }
      target = start..<position
      return true
    }
    if position == sum { throw MessageError(.targetTooLong, MessageFault(limit: MessageLimit(.target, limit))) }
    if byte == Byte.carriageReturn {
      // HTTP/0.9: the line ends after the target, as in `GET /`.
      guard position &+ 1 < bytes.count else { return false }
      throw MessageError(bytes[position &+ 1] == Byte.lineFeed ? .unsupportedVersion : .bareCarriageReturn)
    }
    if byte == Byte.lineFeed { throw MessageError(.bareLineFeed) }
    if byte == Self.hash { throw MessageError(.fragmentInTarget) }
    throw MessageError(
      .forbiddenInTarget, MessageFault(line: 1, character: TargetCharacter(byte, at: position &- start &+ 1)))
  }

  @inline(__always)
  private mutating func scanVersion(_ bytes: Span<UInt8>) throws(MessageError) -> Int? {
    let start = target.upperBound &+ 1
    if start < bytes.count, bytes[start] | 0x20 != Self.h {
      // No version follows the space, so the space is probably part of the target.
      let space = TargetCharacter(Byte.space, at: target.count &+ 1)
      throw MessageError(.badRequestLine, MessageFault(line: 1, character: space))
    }
    guard let version = try Version(bytes, at: start, orThrow: .badRequestLine) else { return nil }
    self.version = version
    let end = start &+ Version.bytes
    guard end < bytes.count else { return nil }
    guard bytes[end] == Byte.carriageReturn else {
      throw MessageError(bytes[end] == Byte.lineFeed ? .bareLineFeed : .badRequestLine)
    }
    guard end &+ 1 < bytes.count else { return nil }
    guard bytes[end &+ 1] == Byte.lineFeed else { throw MessageError(.bareCarriageReturn) }
    return end &+ 2
  }

  /// Maximum length of a method in bytes.
  private static var methodBytes: Int { 32 }
  private static var hash: UInt8 { 0x23 }
  private static var h: UInt8 { 0x68 }
}

/// Parses the status line as it arrives (RFC 9112 §4).
struct StatusLine: Sendable {
  private(set) var version = Version.http11
  private(set) var status = 0
  private(set) var reason = 0..<0
  /// The next unread position in the reason phrase; 0 until the status was read.
  private var position = 0

  /// Parses the status line. Returns the position after it, or `nil` if it is incomplete.
  mutating func scan(_ bytes: Span<UInt8>) throws(MessageError) -> Int? {
    if position == 0 {
      guard try scanStatus(bytes) else { return nil }
    }
    let end = Scanning.endOfValue(bytes, from: position)
    position = end
    guard end < bytes.count else { return nil }
    guard bytes[end] == Byte.carriageReturn else {
      throw MessageError(bytes[end] == Byte.lineFeed ? .bareLineFeed : .badStatusLine)
    }
    guard end &+ 1 < bytes.count else { return nil }
    guard bytes[end &+ 1] == Byte.lineFeed else { throw MessageError(.bareCarriageReturn) }
    reason = reason.lowerBound..<end
    return end &+ 2
  }

  /// Parses the version and the status. Returns `false` if more input is needed.
  private mutating func scanStatus(_ bytes: Span<UInt8>) throws(MessageError) -> Bool {
    // An HTTP/2 frame begins with its length in three bytes. The first is 0, because unrequested frames are small.
    if bytes.count > 0, bytes[0] == 0 { throw MessageError(.http2Frame) }
    guard let version = try Version(bytes, at: 0, orThrow: .badStatusLine) else { return false }
    self.version = version
    let space = Version.bytes
    guard space < bytes.count else { return false }
    guard bytes[space] == Byte.space else { throw MessageError(.badStatusLine) }
    var status = 0
    var end = space &+ 1
    while end < space &+ 4 {
      guard end < bytes.count else { return false }
      guard ASCII.isDigit(bytes[end]) else { throw MessageError(.badStatusLine) }
      status = status &* 10 &+ Int(bytes[end] &- Byte.zero)
      guard status > 0 else { throw MessageError(.badStatusLine) }
      end &+= 1
    }
    guard end < bytes.count else { return false }
    self.status = status
    // Many servers omit the reason phrase and the space before it.
    switch bytes[end] {
    case Byte.space: position = end &+ 1
    case Byte.carriageReturn: position = end
    case Byte.lineFeed: throw MessageError(.bareLineFeed)
    default: throw MessageError(.badStatusLine)
    }
    reason = position..<position
    return true
  }
}

extension Version {
  static var bytes: Int { 8 }

  /// Parses a version such as `HTTP/1.1`; `nil` if it is incomplete. Throws `reason` for other text.
  @inline(__always)
  fileprivate init?(_ bytes: Span<UInt8>, at start: Int, orThrow reason: MessageError.Reason) throws(MessageError) {
    let available = Swift.min(bytes.count &- start, Self.bytes)
    if available == Self.bytes, Scanning.load(bytes, at: start).byteSwapped == Self.http11Word {
      self = .http11
      return
    }
    var index = 0
    while index < available {
      let byte = bytes[start &+ index]
      let expected = UInt8(truncatingIfNeeded: Self.http11Word >> UInt64(56 &- 8 &* index))
      switch index {
      case 5:
        guard ASCII.isDigit(byte) else { throw MessageError(reason) }
        guard byte == expected else { throw MessageError(.unsupportedVersion) }
      case 7:
        guard ASCII.isDigit(byte) else { throw MessageError(reason) }
      default:
        guard byte == expected else { throw MessageError(reason) }
      }
      index &+= 1
    }
    guard available == Self.bytes else { return nil }
    self = bytes[start &+ 7] == Byte.zero ? .http10 : .http11
  }

  /// The bytes of `HTTP/1.1` as one integer, with the first byte in the highest bits.
  private static var http11Word: UInt64 { 0x4854_5450_2F31_2E31 }
}

extension Method {
  /// Creates the method with this name, which is case-sensitive (RFC 9110 §9.1).
  package init(_ name: Span<UInt8>) {
    var word: UInt64 = 0
    for index in name.indices { word = word << 8 | UInt64(name[index]) }
    self = name.count > 8 ? .other : Method(word)
  }

  /// - Parameter word: The last eight bytes of the method's name, with the last byte in the lowest bits.
  fileprivate init(_ word: UInt64) {
    switch word {
    case 0x47_4554: self = .get
    case 0x4845_4144: self = .head
    case 0x504F_5354: self = .post
    case 0x50_5554: self = .put
    case 0x4445_4C45_5445: self = .delete
    case 0x50_4154_4348: self = .patch
    case 0x4F_5054_494F_4E53: self = .options
    case 0x54_5241_4345: self = .trace
    case 0x43_4F4E_4E45_4354: self = .connect
    default: self = .other
    }
  }
}
