package import HTTP1
internal import Policy
internal import Primitives

/// Handling of the cookie that is a credential. Copies of it from a client or an upstream are not forwarded (T34, T45).
enum CredentialCookie {
  /// Whether a server could find the cookie `name` in `part`, the text between two semicolons of a Cookie field.
  static func appears(_ name: String, in part: ArraySlice<UInt8>) -> Bool {
    // Decoding never makes the part longer.
    guard !name.isEmpty, part.count >= name.utf8.count else { return false }
    let name = name.utf8.map(folded)
    let part = decoded(part)
    guard part.count >= name.count else { return false }
    for start in 0...(part.count - name.count) where part[start..<(start + name.count)].elementsEqual(name) {
      let before = start > 0 ? part[start - 1] : 0
      if isNameByte(before) { continue }
      let next = part[(start + name.count)...].drop { $0 == 0x20 || $0 == 0x09 }.first
      if next == UInt8(ascii: "=") || next == nil && before != UInt8(ascii: "=") { return true }
    }
    return false
  }

  /// Whether a field that has one of the grant's field names carries a credential.
  static func isCarried(by field: Field, of bytes: [UInt8], _ grant: Grant) -> Bool {
    guard let name = grant.cookie else { return true }
    var parts = CookieParts(of: field, bytes)
    while let part = parts.next() {
      if appears(name, in: part) { return true }
    }
    return false
  }

  static func isSet(by field: Field, of bytes: [UInt8], name: String) -> Bool {
    var parts = CookieParts(of: field, bytes)
    guard let first = parts.next() else { return false }
    // Clients send a nameless cookie back in a form in which the text before the next `=` looks like its name.
    return appears(name, in: first.drop { $0 == UInt8(ascii: "=") }.prefix { $0 != UInt8(ascii: "=") })
  }

  /// Maximum length of a cookie value, in bytes (RFC 6265 section 6.1).
  private static let longest = 4_096

  /// Returns the last usable cookie `name` that a response sets. `nil` if there is none.
  static func last(_ name: String, in head: ResponseHead) -> SetCookie? {
    var last: SetCookie?
    let bytes = head.bytes.span
    for field in head.fields where field.known == .setCookie {
      guard let cookie = SetCookie(field.value, of: bytes), cookie.isNamed(name, of: bytes) else { continue }
      last = cookie.isSendable(of: bytes) && cookie.value.count <= longest ? cookie : nil
    }
    return last
  }

  /// Returns one byte for all bytes that some servers do not distinguish in cookie names.
  private static func folded(_ byte: UInt8) -> UInt8 {
    switch byte {
    case 0x41...0x5A: byte | 0x20
    case UInt8(ascii: "."), UInt8(ascii: "["), UInt8(ascii: "-"): UInt8(ascii: "_")
    default: byte
    }
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    ASCII.isDigit(byte) || (0x61...0x7A).contains(byte) || byte == UInt8(ascii: "_")
  }

  private static func decoded(_ part: ArraySlice<UInt8>) -> [UInt8] {
    var (decoded, index) = ([UInt8](), part.startIndex)
    decoded.reserveCapacity(part.count)
    while index < part.endIndex {
      if part[index] == UInt8(ascii: "%"), part.endIndex - index > 2, let high = ASCII.hexValue(part[index + 1]),
        let low = ASCII.hexValue(part[index + 2])
      {
        decoded.append(folded(high << 4 | low))
        index += 3
      } else {
        decoded.append(folded(part[index]))
        index += 1
      }
    }
    return decoded
  }
}

/// Iterates over the trimmed parts of a Cookie field between semicolons.
struct CookieParts {
  private let bytes: [UInt8]
  private var rest: Range<Int>

  init(of field: Field, _ bytes: [UInt8]) {
    self.bytes = bytes
    rest = field.value
  }

  mutating func next() -> ArraySlice<UInt8>? {
    while !rest.isEmpty {
      var end = rest.lowerBound
      while end < rest.upperBound, bytes[end] != UInt8(ascii: ";") { end += 1 }
      var part = bytes[rest.lowerBound..<end]
      rest = min(end + 1, rest.upperBound)..<rest.upperBound
      while let byte = part.first, byte == 0x20 || byte == 0x09 { part = part.dropFirst() }
      while let byte = part.last, byte == 0x20 || byte == 0x09 { part = part.dropLast() }
      if !part.isEmpty { return part }
    }
    return nil
  }
}

extension RequestForwarding {
  /// Appends the client's other cookies, as in the value of a Cookie field, if the credential is a cookie.
  func writeOtherCookies(_ head: RequestHead, route: Route, snapshot: Snapshot, to output: inout ByteBuffer) {
    guard injects, case .inject(let index) = route.credential, let name = snapshot.rules.grants[index].cookie,
      snapshot.options(of: route).cookies == .pass
    else { return }
    for field in head.fields where field.known == .cookie {
      var parts = CookieParts(of: field, head.bytes)
      while let part = parts.next() {
        if CredentialCookie.appears(name, in: part) { continue }
        if !output.isEmpty { output.append("; ") }
        output.append(contentsOf: part)
      }
    }
  }
}

extension Exchange {
  /// Finds a new value of the credential's cookie in the response to a GET or HEAD (T45).
  mutating func recordFreshCookie(output: inout Output) {
    passage.freshCookie = nil
    // The response to another method could be a login of the client, with a different identity.
    guard let grant, let name = snapshot?.rules.grants[grant].cookie, head.method == .get || head.method == .head,
      (200..<300).contains(response.status) || response.status == 304
    else { return }
    passage.freshCookie = CredentialCookie.last(name, in: response)
    if passage.freshCookie != nil { output.actions.insert(.offerCookie) }
  }

  /// Calls `body` with a new value of the credential's cookie, and overwrites this value in the response head.
  package mutating func removeFreshCookie(_ body: (SetCookie, Span<UInt8>) -> Void) {
    guard let cookie = passage.freshCookie else { return }
    passage.freshCookie = nil
    body(cookie, response.bytes.span)
    for index in cookie.value { response.bytes[index] = UInt8(ascii: "x") }
  }
}
