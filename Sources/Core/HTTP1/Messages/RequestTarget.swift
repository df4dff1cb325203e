/// Splits a request-target into its parts (RFC 9112 §3.2).
struct RequestTarget: Sendable {
  /// The path and query of the target. For CONNECT, the authority.
  let origin: Range<Int>
  /// The authority of an absolute-form target such as `http://host/path`; `nil` for other forms.
  let authority: Range<Int>?
  /// The byte to insert before `origin` if the target has no path (RFC 9112 §3.2.4); otherwise `nil`.
  let impliedByte: UInt8?

  /// - Parameter range: The valid and not empty request-target in `bytes`.
  init(_ range: Range<Int>, of bytes: Span<UInt8>, _ method: Method) throws(MessageError) {
    let target = bytes.extracting(range)
    let start = range.lowerBound
    if method == .connect {
      guard Authority.isValid(target, needsPort: true) else { throw MessageError(.badTarget) }
      (origin, authority, impliedByte) = (range, nil, nil)
    } else if target[0] == Byte.slash {
      (origin, authority, impliedByte) = (range, nil, nil)
    } else if target.count == 1 && target[0] == Self.asterisk {
      guard method == .options else { throw MessageError(.badTarget) }
      (origin, authority, impliedByte) = (range, nil, nil)
    } else {
      let found = try Self.authority(of: target)
      let rest = found.upperBound..<target.count
      origin = (start &+ rest.lowerBound)..<range.upperBound
      authority = (start &+ found.lowerBound)..<origin.lowerBound
      impliedByte =
        rest.isEmpty && method == .options
        ? Self.asterisk : rest.isEmpty || target[rest.lowerBound] != Byte.slash ? Byte.slash : nil
    }
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
