import Glibc

/// A URL as browsers resolve it (the WHATWG's URL Standard), as far as the targets need.
struct URL: Equatable, CustomStringConvertible {
  var scheme: String
  /// For http and https: host and port in lower case, without userinfo and default port. For other schemes: everything
  /// after the scheme.
  var authority: [UInt8]
  var path: [UInt8] = []
  /// Query and fragment, with `?` or `#`.
  var rest: [UInt8] = []

  var description: String { "\(scheme)://\(shown(authority)) \(shown(path)) \(shown(rest))" }
}

extension URL {
  init(_ reference: [UInt8], against base: URL) {
    // Spaces at the ends and all tabs are ignored.
    var text = reference.filter { $0 != 0x09 }[...]
    while text.first == 0x20 { text.removeFirst() }
    while text.last == 0x20 { text.removeLast() }
    if let colon = Self.endOfScheme(text) {
      let scheme = String(decoding: text[..<colon].map(lowercased), as: UTF8.self)
      let rest = text[(colon + 1)...]
      guard scheme == "http" || scheme == "https" else {
        self.init(scheme: scheme, authority: Self.escaped(rest) { $0 <= 0x20 || $0 == 0x7F || $0 == 0x5C })
        return
      }
      if scheme != base.scheme || rest.prefix(2).allSatisfy(Self.isSlash) && rest.count >= 2 {
        self.init(scheme: scheme, after: rest.drop(while: Self.isSlash))
        return
      }
      text = rest
    }
    if text.prefix(2).count == 2, text.prefix(2).allSatisfy(Self.isSlash) {
      self.init(scheme: base.scheme, after: text.drop(while: Self.isSlash))
      return
    }
    let path = text.prefix { $0 != 0x3F && $0 != 0x23 }
    self.init(
      scheme: base.scheme, authority: base.authority, path: base.path, rest: Self.escaped(text[path.endIndex...]))
    if path.isEmpty { return }
    let directory = base.path.prefix((base.path.lastIndex(of: 0x2F) ?? -1) + 1)
    self.path = Self.withoutDots(Self.isSlash(path[path.startIndex]) ? Array(path) : Array(directory) + path)
  }

  private init(scheme: String, after slashes: ArraySlice<UInt8>) {
    let authority = slashes.prefix { !Self.isSlash($0) && $0 != 0x3F && $0 != 0x23 }
    let host = authority.lastIndex(of: 0x40).map { authority[($0 + 1)...] } ?? authority
    // A host name may have letters outside of ASCII.
    var name = Self.escaped(host) { $0 <= 0x20 || $0 == 0x7F || "\"<>\\^`{|}".utf8.contains($0) }.map(lowercased)
    for port in scheme == "http" ? [":80", ":"] : [":443", ":"]
    where name.suffix(port.utf8.count).elementsEqual(port.utf8) {
      name.removeLast(port.utf8.count)
      break
    }
    let path = slashes[authority.endIndex...].prefix { $0 != 0x3F && $0 != 0x23 }
    name = Self.withoutRoot(name)
    self.init(
      scheme: scheme, authority: name, path: Self.withoutDots(path.isEmpty ? [0x2F] : Array(path)),
      rest: Self.escaped(slashes[path.endIndex...]))
  }

  /// Returns the authority without the dot of the DNS root (RFC 3986 section 3.2.2).
  private static func withoutRoot(_ authority: [UInt8]) -> [UInt8] {
    let start = authority.lastIndex(of: 0x5D) ?? 0
    let colon = authority[start...].lastIndex(of: 0x3A)
    if let colon, !authority[(colon + 1)...].allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) { return authority }
    let end = colon ?? authority.endIndex
    guard end > 1, authority[end - 1] == 0x2E, authority[end - 2] != 0x2E else { return authority }
    return Array(authority[..<(end - 1)]) + authority[end...]
  }

  private static func endOfScheme(_ text: ArraySlice<UInt8>) -> Int? {
    guard let colon = text.firstIndex(of: 0x3A), let first = text.first, first | 0x20 >= 0x61, first | 0x20 <= 0x7A,
      text[..<colon].allSatisfy({
        $0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A || $0 >= 0x30 && $0 <= 0x39 || "+-.".utf8.contains($0)
      })
    else { return nil }
    return colon
  }

  private static func isSlash(_ byte: UInt8) -> Bool { byte == 0x2F || byte == 0x5C }

  /// Escapes characters that a URI cannot contain.
  private static func escaped(_ text: ArraySlice<UInt8>) -> [UInt8] {
    escaped(text) { $0 <= 0x20 || $0 >= 0x7F || "\"<>\\^`{|}".utf8.contains($0) }
  }

  private static func escaped(_ text: ArraySlice<UInt8>, where needsEscape: (UInt8) -> Bool) -> [UInt8] {
    text.flatMap { byte -> [UInt8] in
      needsEscape(byte) ? bytesOf("%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)) : [byte]
    }
  }

  private static func withoutDots(_ path: [UInt8]) -> [UInt8] {
    var segments: [[UInt8]] = []
    let parts = path.dropFirst().split(omittingEmptySubsequences: false, whereSeparator: isSlash)
    for (index, part) in parts.enumerated() {
      let isLast = index == parts.count - 1
      switch String(decoding: part.map(lowercased), as: UTF8.self) {
      case ".", "%2e": if isLast { segments.append([]) }
      case "..", "%2e.", ".%2e", "%2e%2e":
        if !segments.isEmpty { segments.removeLast() }
        if isLast { segments.append([]) }
      default: segments.append(escaped(part))
      }
    }
    return segments.flatMap { [0x2F] + $0 }
  }
}

/// Whether the URL leads to the listener's port on this machine, in any notation that the C library reads.
func isLocal(_ url: URL) -> Bool {
  guard url.scheme == "http" || url.scheme == "https" else { return false }
  let text = String(decoding: url.authority, as: UTF8.self)
  guard text.hasSuffix(":7070") else { return false }
  var host = text.dropLast(5)
  if host.hasPrefix("["), host.hasSuffix("]") {
    var address = in6_addr()
    guard inet_pton(AF_INET6, String(host.dropFirst().dropLast()), &address) == 1 else { return false }
    let bytes = withUnsafeBytes(of: &address) { Array($0) }
    return bytes.dropLast().allSatisfy { $0 == 0 } && (bytes[15] <= 1)
      || bytes[..<12].elementsEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]) && (bytes[12] == 127 || bytes[12] == 0)
  }
  if host.hasSuffix(".") { host = host.dropLast() }
  if host == "localhost" || host.hasSuffix(".localhost") { return true }
  var address = in_addr()
  guard !host.isEmpty, inet_aton(String(host), &address) == 1 else { return false }
  let first = UInt32(bigEndian: address.s_addr) >> 24
  return first == 127 || address.s_addr == 0
}
