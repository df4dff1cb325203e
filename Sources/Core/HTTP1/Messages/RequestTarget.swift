/// The form of a request-target (RFC 9112 §3.2), told by its first bytes and the method.
struct RequestTarget: Sendable {
  /// The origin-form within the target; for CONNECT the authority.
  let origin: Range<Int>
  /// The authority of an absolute-form target.
  let authority: Range<Int>?
  /// The byte before `origin` in the target that is meant, but not in the bytes: `/` where an absolute-form target
  /// has no path, or the whole `*` where an OPTIONS request has no query either (RFC 9112 §3.2.4).
  let missing: UInt8?

  /// - Parameter range: the target in `bytes`; not empty, and made of bytes that a target may hold.
  init(_ range: Range<Int>, of bytes: Span<UInt8>, _ method: Method) throws(MessageError) {
    let target = bytes.extracting(range)
    let start = range.lowerBound
    if method == .connect {
      guard Authority.isValid(target, needsPort: true) else { throw MessageError(.badTarget) }
      self.init(origin: range, authority: nil, missing: nil)
    } else if target[0] == Byte.slash {
      self.init(origin: range, authority: nil, missing: nil)
    } else if target.count == 1 && target[0] == Self.asterisk {
      guard method == .options else { throw MessageError(.badTarget) }
      self.init(origin: range, authority: nil, missing: nil)
    } else {
      let authority = try Self.authority(of: target)
      let rest = authority.upperBound..<target.count
      let moved = (start &+ rest.lowerBound)..<range.upperBound
      self.init(
        origin: moved, authority: (start &+ authority.lowerBound)..<moved.lowerBound,
        missing: rest.isEmpty && method == .options
          ? Self.asterisk : rest.isEmpty || target[rest.lowerBound] != Byte.slash ? Byte.slash : nil)
    }
  }

  private init(origin: Range<Int>, authority: Range<Int>?, missing: UInt8?) {
    self.origin = origin
    self.authority = authority
    self.missing = missing
  }

  private static func authority(of target: Span<UInt8>) throws(MessageError) -> Range<Int> {
    guard let start = endOfScheme(target) else { throw MessageError(.badTarget) }
    var end = start
    var hasUserinfo = false
    while end < target.count, target[end] != Byte.slash, target[end] != question {
      if target[end] == at { hasUserinfo = true }
      end &+= 1
    }
    if hasUserinfo { throw MessageError(.userinfoInTarget) }
    guard Authority.isValid(target.extracting(start..<end)) else { throw MessageError(.badTarget) }
    return start..<end
  }

  /// The position behind `http://` or `https://`.
  private static func endOfScheme(_ target: Span<UInt8>) -> Int? {
    var colon = 0
    while colon < target.count, colon < 6, target[colon] != Byte.colon { colon &+= 1 }
    guard
      FieldName.matches(0..<colon, of: target, "http") || FieldName.matches(0..<colon, of: target, "https"),
      target.count >= colon &+ 3, target[colon] == Byte.colon,
      target[colon &+ 1] == Byte.slash, target[colon &+ 2] == Byte.slash
    else { return nil }
    return colon &+ 3
  }

  private static var asterisk: UInt8 { 0x2A }
  private static var question: UInt8 { 0x3F }
  private static var at: UInt8 { 0x40 }
}
