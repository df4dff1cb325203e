internal import Policy

/// The form of a URI reference (RFC 3986 §4.1), as far as rewriting asks.
enum Reference {
  /// A path without leading slash, a query, a fragment, or nothing: the client resolves it against its own URL.
  case relative
  /// `/path…`
  case absolutePath([UInt8])
  /// `https://host/path…` or `//host/path…` (which is the upstream's scheme).
  case absolute(Origin, [UInt8])
  /// `mailto:…`, or an http(s) URL whose authority cannot be read here: it goes to the client as it is.
  case otherScheme
  /// Something that browsers read as an authority although RFC 3986 does not (`/\host`, `\\host`): nothing is left of it.
  case odd

  init(_ bytes: [UInt8], scheme: Origin.Scheme) {
    if bytes.contains(UInt8(ascii: "\\")) || bytes.contains(where: { $0 < 0x21 || $0 == 0x7F }) {
      self = .odd
      return
    }
    if bytes.starts(with: "//".utf8) {
      self = Reference.authority(scheme: scheme, bytes[2...])
    } else if bytes.first == UInt8(ascii: "/") {
      self = .absolutePath(bytes)
    } else if let rest = Reference.rest(of: bytes, after: "https://") {
      self = Reference.authority(scheme: .https, rest)
    } else if let rest = Reference.rest(of: bytes, after: "http://") {
      self = Reference.authority(scheme: .http, rest)
    } else {
      self = Reference.hasScheme(bytes) ? .otherScheme : .relative
    }
  }

  /// A relative path against an absolute one: merged, dot segments removed (RFC 3986 §5.2); query and fragment stay.
  static func resolve(_ reference: [UInt8], against base: [UInt8]) -> [UInt8] {
    let end = reference.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? reference.count
    let directory = base.lastIndex(of: UInt8(ascii: "/")).map { base[...$0] } ?? base[...]
    var segments: [ArraySlice<UInt8>] = []
    let merged = Array(directory) + reference[..<end]
    let parts = merged.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    for (index, part) in parts.enumerated() {
      let isLast = index == parts.count - 1
      if part.elementsEqual("..".utf8) {
        if !segments.isEmpty { segments.removeLast() }
        if isLast { segments.append([]) }
      } else if part.elementsEqual(".".utf8) {
        if isLast { segments.append([]) }
      } else {
        segments.append(part)
      }
    }
    var path: [UInt8] = []
    for segment in segments {
      path.append(UInt8(ascii: "/"))
      path.append(contentsOf: segment)
    }
    return path + reference[end...]
  }

  private static func authority(scheme: Origin.Scheme, _ bytes: ArraySlice<UInt8>) -> Reference {
    let end = bytes.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
    let authority = String(decoding: bytes[..<(end ?? bytes.endIndex)], as: UTF8.self)
    guard let origin = try? Origin(parsing: "\(scheme.rawValue)://\(authority)") else { return .otherScheme }
    var path = end.map { Array(bytes[$0...]) } ?? []
    if path.first != UInt8(ascii: "/") { path.insert(UInt8(ascii: "/"), at: 0) }
    return .absolute(origin, path)
  }

  private static func rest(of bytes: [UInt8], after prefix: String) -> ArraySlice<UInt8>? {
    guard bytes.count >= prefix.utf8.count else { return nil }
    for (byte, wanted) in zip(bytes, prefix.utf8) {
      let lower = byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
      if lower != wanted { return nil }
    }
    return bytes[prefix.utf8.count...]
  }

  private static func hasScheme(_ bytes: [UInt8]) -> Bool {
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return false }
    let stop = bytes.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
    return stop.map { colon < $0 } ?? true
  }
}
