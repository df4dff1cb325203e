internal import HTTP1
internal import Policy
import Primitives

/// The kinds of URI references (RFC 3986 §4.1) that rewriting distinguishes.
enum Reference {
  /// A path without a leading slash, a query, a fragment or an empty text.
  case relative
  /// `/path…`
  case absolutePath
  /// `https://host/path…` or `//host/path…`. The second value is the text after the authority.
  case absolute(Origin, [UInt8])
  /// An absolute reference with a host that is not parsed, such as `http://127.1:7070`.
  case unreadable(ports: [UInt16])
  /// `mailto:…` or another scheme. Not changed.
  case otherScheme
  /// Invalid text, or text that browsers read as an authority although RFC 3986 does not (`/\host`, `http:host`).
  case odd

  init(_ bytes: [UInt8], scheme: Origin.Scheme) {
    if bytes.contains(UInt8(ascii: "\\")) || bytes.contains(where: { $0 < 0x21 || $0 == 0x7F }) {
      self = .odd
    } else if bytes.starts(with: "//".utf8) {
      self = Reference.authority(scheme: scheme, bytes[2...])
    } else if bytes.first == UInt8(ascii: "/") {
      self = .absolutePath
    } else if let web = Reference.webScheme(of: bytes) {
      let rest = bytes[web.end...]
      self = rest.starts(with: "//".utf8) ? Reference.authority(scheme: web.scheme, rest.dropFirst(2)) : .odd
    } else {
      self = Reference.hasScheme(bytes) ? .otherScheme : .relative
    }
  }

  /// Resolves a path with query and fragment against an absolute path (RFC 3986 §5.2).
  static func resolve(_ reference: [UInt8], against base: [UInt8]) -> [UInt8] {
    let end = Reference.endOfPath(reference)
    let directory = base.lastIndex(of: UInt8(ascii: "/")).map { base[...$0] } ?? base[...]
    let path = reference[..<end]
    let merged = path.first == UInt8(ascii: "/") ? path : directory + path
    let slash = UInt8(ascii: "/")
    var resolved: [UInt8] = []
    var rest = merged.dropFirst()
    while true {
      let part = rest.prefix { $0 != slash }
      let isLast = part.endIndex == rest.endIndex
      switch dots(part) {
      case 2:
        while let byte = resolved.popLast(), byte != slash {}
        if isLast { resolved.append(slash) }
      case 1:
        if isLast { resolved.append(slash) }
      default:
        resolved.append(slash)
        resolved.append(contentsOf: part)
      }
      if isLast { return resolved + reference[end...] }
      rest = rest[(part.endIndex + 1)...]
    }
  }

  static func hasDotSegment(_ reference: [UInt8]) -> Bool {
    let end = endOfPath(reference)
    var previous = UInt8(ascii: "/")
    for index in 0..<end {
      let byte = reference[index]
      // The first byte rules out nearly every segment.
      if previous == UInt8(ascii: "/"), byte == UInt8(ascii: ".") || byte == UInt8(ascii: "%"),
        dots(reference[index..<end].prefix { $0 != UInt8(ascii: "/") }) > 0
      {
        return true
      }
      previous = byte
    }
    return false
  }

  /// Returns 1 for `.`, 2 for `..`, and 0 for another segment.
  private static func dots(_ segment: ArraySlice<UInt8>) -> Int {
    var (index, count) = (segment.startIndex, 0)
    while index < segment.endIndex {
      switch segment[index] {
      case UInt8(ascii: "."): index += 1
      case UInt8(ascii: "%"):
        guard segment.endIndex - index >= 3, segment[index + 1] == UInt8(ascii: "2"),
          segment[index + 2] | 0x20 == UInt8(ascii: "e")
        else { return 0 }
        index += 3
      default: return 0
      }
      count += 1
      if count > 2 { return 0 }
    }
    return count
  }

  /// Returns the index where the query or the fragment begins, or the length if there is neither.
  static func endOfPath(_ reference: [UInt8]) -> Int {
    reference.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? reference.count
  }

  /// Parses the text after `//`: an authority, and a path after it.
  static func authority(scheme: Origin.Scheme, _ bytes: ArraySlice<UInt8>) -> Reference {
    let end = bytes.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
    // Userinfo extends to the last @ (WHATWG URL). It is not checked.
    var authority = bytes[..<(end ?? bytes.endIndex)]
    if let at = authority.lastIndex(of: UInt8(ascii: "@")) { authority = authority[(at + 1)...] }
    // Longer than any valid host name, so no server reads a port after it.
    if authority.isEmpty || authority.count > longestAuthority { return .odd }
    guard let origin = try? Origin(parsing: "\(scheme.rawValue)://\(String(decoding: authority, as: UTF8.self))") else {
      return .unreadable(ports: ports(authority) + [scheme.defaultPort])
    }
    var path = end.map { Array(bytes[$0...]) } ?? []
    if path.first != UInt8(ascii: "/") { path.insert(UInt8(ascii: "/"), at: 0) }
    return .absolute(origin, path)
  }

  /// Maximum length of host and port, in bytes.
  private static let longestAuthority = 1_024

  /// Returns all numbers that a program could read as the port.
  private static func ports(_ authority: ArraySlice<UInt8>) -> [UInt16] {
    let host = authority.lastIndex(of: UInt8(ascii: "]")) ?? authority.startIndex
    return authority[host...].split(separator: UInt8(ascii: ":")).dropFirst().compactMap { part in
      UInt16(String(decoding: part.prefix { ASCII.isDigit($0) }, as: UTF8.self))
    }
  }

  /// Returns the scheme of a text and the index after its colon. `nil` unless the scheme is `http` or `https`.
  static func webScheme(of bytes: [UInt8]) -> (scheme: Origin.Scheme, end: Int)? {
    guard bytes.count >= 5, FieldName.matches(0..<4, of: bytes.span, "http") else { return nil }
    if bytes[4] == UInt8(ascii: ":") { return (.http, 5) }
    guard bytes.count >= 6, bytes[4] | 0x20 == UInt8(ascii: "s"), bytes[5] == UInt8(ascii: ":") else { return nil }
    return (.https, 6)
  }

  /// Whether the text begins with a scheme (RFC 3986 §3.1).
  static func hasScheme(_ bytes: [UInt8]) -> Bool {
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), let first = bytes.first, ASCII.isLetter(first) else {
      return false
    }
    return bytes[..<colon].allSatisfy { ASCII.isLetterOrDigit($0) || "+-.".utf8.contains($0) }
  }
}
