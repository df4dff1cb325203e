package import HTTP1
package import Policy
internal import Primitives

/// A cookie from a Set-Cookie field that may be stored in the jar of `cookies: jar` (RFC 6265 section 5).
package struct JarCookie: Sendable {
  /// The name, as a range of the field's bytes without surrounding whitespace.
  package let name: Range<Int>
  package let value: Range<Int>
  /// The cookie is sent only for this path and paths below it.
  package let path: [UInt8]
  package let cookie: SetCookie

  /// Maximum length of name and value together, in bytes (RFC 6265 section 6.1).
  static let longest = 4_096

  /// Parses a Set-Cookie field. Returns `nil` if the cookie must not be stored.
  /// - Parameters:
  ///   - host: the host of the upstream that sent the field.
  ///   - requestPath: the path of the request to the upstream, without the query.
  package init?(_ line: Range<Int>, of bytes: Span<UInt8>, host: HostName, requestPath: [UInt8]) {
    guard let cookie = SetCookie(line, of: bytes), Self.isClean(line, bytes),
      Self.isName(cookie.name, bytes), Self.isValue(cookie.value, bytes),
      cookie.name.count + cookie.value.count <= Self.longest,
      Self.appliesOnly(to: host, cookie.domain, bytes)
    else { return nil }
    var own: [UInt8] = []
    if let path = cookie.path { own.append(bytes.extracting(path)) }
    guard Self.honorsPrefix(cookie, ownPath: own, bytes) else { return nil }
    (name, value, self.cookie) = (cookie.name, cookie.value, cookie)
    path = own.first == UInt8(ascii: "/") ? own : Self.directory(of: requestPath)
  }

  private static func isClean(_ line: Range<Int>, _ bytes: Span<UInt8>) -> Bool {
    for index in line where bytes[index] < 0x20 && bytes[index] != 0x09 || bytes[index] == 0x7F { return false }
    return true
  }

  private static func isName(_ name: Range<Int>, _ bytes: Span<UInt8>) -> Bool {
    for index in name where bytes[index] <= 0x20 || bytes[index] > 0x7E { return false }
    return true
  }

  /// Whether all bytes are ASCII and not control bytes.
  private static func isValue(_ value: Range<Int>, _ bytes: Span<UInt8>) -> Bool {
    for index in value where bytes[index] < 0x20 || bytes[index] > 0x7E { return false }
    return true
  }

  /// Whether the cookie is only for `host`.
  private static func appliesOnly(to host: HostName, _ domain: Range<Int>?, _ bytes: Span<UInt8>) -> Bool {
    guard var domain, !domain.isEmpty else { return true }
    if bytes[domain.lowerBound] == UInt8(ascii: ".") { domain.removeFirst() }
    guard domain.count <= 255 else { return false }
    var text: [UInt8] = []
    text.append(bytes.extracting(domain))
    return String(decoding: text, as: UTF8.self).lowercased() == host.description
  }

  /// Whether the cookie fulfills the conditions for a name with `__Host-` or `__Secure-` (rfc6265bis section 4.1.3).
  private static func honorsPrefix(_ cookie: SetCookie, ownPath: [UInt8], _ bytes: Span<UInt8>) -> Bool {
    if begins(cookie.name, with: "__host-", bytes) {
      return cookie.isSecure && ownPath == [UInt8(ascii: "/")] && cookie.domain?.isEmpty ?? true
    }
    return cookie.isSecure || !begins(cookie.name, with: "__secure-", bytes)
  }

  private static func begins(_ name: Range<Int>, with prefix: String, _ bytes: Span<UInt8>) -> Bool {
    FieldName.matches(name.prefix(prefix.utf8.count), of: bytes, prefix)
  }

  /// Returns the default path of a cookie for a request to `path` (RFC 6265 section 5.1.4).
  private static func directory(of path: [UInt8]) -> [UInt8] {
    guard path.first == UInt8(ascii: "/"), let end = path.lastIndex(of: UInt8(ascii: "/")), end > 0
    else { return [UInt8(ascii: "/")] }
    return Array(path[..<end])
  }
}

extension Exchange {
  /// Records whether the response head has cookies for the jar.
  mutating func recordJarCookies(output: inout Output) {
    passage.hasJarCookies = false
    guard forwarding.keepsCookies, response.status >= 200 else { return }
    for field in response.fields where field.known == .setCookie { passage.hasJarCookies = true }
    if passage.hasJarCookies { output.actions.insert(.keepCookies) }
  }

  /// Calls `body` with each cookie for the jar and the response head. Then overwrites all Set-Cookie values in the
  /// head.
  package mutating func removeJarCookies(_ body: (JarCookie, Span<UInt8>) -> Void) {
    guard passage.hasJarCookies, let route, let snapshot else { return }
    passage.hasJarCookies = false
    let upstream = snapshot.rules.services[route.service].upstream
    let requestPath = upstream.basePath + target.path.dropFirst(route.pathStart + 1)
    for field in response.fields where field.known == .setCookie {
      let cookie = JarCookie(
        field.value, of: response.bytes.span, host: upstream.origin.host, requestPath: requestPath)
      if let cookie { body(cookie, response.bytes.span) } else { record.dropped.insert(.setCookie) }
      for index in field.value { response.bytes[index] = UInt8(ascii: "x") }
    }
  }
}
