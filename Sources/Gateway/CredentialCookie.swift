package import HTTP1
internal import Policy

/// The cookie that a credential is: of what a client and an upstream say in its name nothing passes (T34, T45); what they say of
/// others does, where the service lets cookies pass.
enum CredentialCookie {
  /// Whether a server could take something in this part of a Cookie field, between two semicolons, for the cookie of this name:
  /// whatever its case, by escapes, behind a comma or within quotation marks, as some have read it.
  static func stands(_ name: String, in part: ArraySlice<UInt8>) -> Bool {
    let name = name.utf8.map(folded)
    let part = decoded(part).map(folded)
    guard !name.isEmpty, part.count >= name.count else { return false }
    for start in 0...(part.count - name.count) where part[start..<(start + name.count)].elementsEqual(name) {
      let before = start > 0 ? part[start - 1] : 0
      if isOfName(before) { continue }
      let next = part[(start + name.count)...].drop { $0 == 0x20 || $0 == 0x09 }.first
      if next == UInt8(ascii: "=") || next == nil && before != UInt8(ascii: "=") { return true }
    }
    return false
  }

  /// Whether this line of the client's speaks for the credential. Fields of other credentials all do.
  static func isIn(_ field: Field, of bytes: [UInt8], _ grant: Grant) -> Bool {
    guard let name = grant.cookie else { return true }
    return parts(of: field, bytes).contains { stands(name, in: $0) }
  }

  /// Of an upstream's answer, whether the line is none of the client's.
  static func isSet(by field: Field, of bytes: [UInt8], name: String) -> Bool {
    guard let first = parts(of: field, bytes).first else { return false }
    // A nameless one goes back as if what stands before the next `=` were its name.
    return stands(name, in: first.drop { $0 == UInt8(ascii: "=") }.prefix { $0 != UInt8(ascii: "=") })
  }

  /// Longer values are no cookies (RFC 6265 section 6.1).
  private static let longest = 4_096

  /// The one that counts of those that an answer sets, if it can be sent back.
  static func last(_ name: String, in head: ResponseHead) -> SetCookie? {
    var last: SetCookie?
    let bytes = head.bytes.span
    for field in head.fields where field.known == .setCookie {
      guard let cookie = SetCookie(field.value, of: bytes), cookie.isNamed(name, of: bytes) else { continue }
      last = cookie.isSendable(of: bytes) && cookie.value.count <= longest ? cookie : nil
    }
    return last
  }

  static func parts(of field: Field, _ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
    bytes[field.value].split(separator: UInt8(ascii: ";")).compactMap { part in
      var part = part
      while let byte = part.first, byte == 0x20 || byte == 0x09 { part = part.dropFirst() }
      while let byte = part.last, byte == 0x20 || byte == 0x09 { part = part.dropLast() }
      return part.isEmpty ? nil : part
    }
  }

  /// PHP reads `.`, a blank and `[` in names as `_`; others know no case.
  private static func folded(_ byte: UInt8) -> UInt8 {
    switch byte {
    case 0x41...0x5A: byte | 0x20
    case UInt8(ascii: "."), UInt8(ascii: "["), UInt8(ascii: "-"): UInt8(ascii: "_")
    default: byte
    }
  }

  private static func isOfName(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte) || byte == UInt8(ascii: "_")
  }

  private static func decoded(_ part: ArraySlice<UInt8>) -> [UInt8] {
    var (decoded, rest) = ([UInt8](), part)
    while let byte = rest.popFirst() {
      let digits = rest.prefix(2)
      if byte == UInt8(ascii: "%"), digits.count == 2,
        let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
      {
        decoded.append(value)
        rest = rest.dropFirst(2)
      } else {
        decoded.append(byte)
      }
    }
    return decoded
  }
}

extension RequestForwarding {
  /// The client's other cookies in one line, the last of the head: the keyring adds the credential's behind them, since a request
  /// has one Cookie field (RFC 6265 section 5.4). Nothing, where there are none, or cookies do not pass.
  func writeOtherCookies(_ head: RequestHead, route: Route, snapshot: Snapshot, to output: inout ByteBuffer) {
    guard injects, case .inject(let index) = route.credential, let name = snapshot.rules.grants[index].cookie,
      snapshot.sharedHeaders(of: route).value.cookies == .pass
    else { return }
    var isFirst = true
    for field in head.fields where field.known == .cookie {
      for part in CredentialCookie.parts(of: field, head.bytes) where !CredentialCookie.stands(name, in: part) {
        output.append(isFirst ? "Cookie: " : "; ")
        output.append(contentsOf: part)
        isFirst = false
      }
    }
    if !isFirst { output.append("\r\n") }
  }
}

extension Exchange {
  /// An upstream may set the credential's cookie anew before it ends, as CouchDB does. Not in answers to requests that change
  /// something: one of them could be a login of the client's own, and its cookie another identity (T45).
  mutating func noteFreshCookie() {
    freshCookie = nil
    guard let grant, let name = snapshot?.rules.grants[grant].cookie, head.method == .get || head.method == .head,
      (200..<300).contains(response.status) || response.status == 304
    else { return }
    freshCookie = CredentialCookie.last(name, in: response)
  }

  /// Lends the line of the newer value, and forgets it.
  package mutating func takeFreshCookie(_ body: (SetCookie, Span<UInt8>) -> Void) {
    guard let cookie = freshCookie else { return }
    freshCookie = nil
    body(cookie, response.bytes.span)
    for index in cookie.value { response.bytes[index] = UInt8(ascii: "x") }
  }
}
