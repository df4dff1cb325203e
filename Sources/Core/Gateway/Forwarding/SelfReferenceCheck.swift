internal import HTTP1
internal import Policy

/// Finds URLs of bearerd's listeners in a response field, in any notation that a client could read as a URL (T32).
struct SelfReferenceCheck {
  enum Verdict {
    case passes
    /// The URLs in the field are too many or too long to check.
    case dropped
    case ours
  }

  private let context: ResponseForwarding.Context
  private let upstream: Upstream

  private init(_ context: ResponseForwarding.Context) {
    self.context = context
    upstream = context.snapshot.rules.services[context.route.service].upstream
  }

  /// Searches a field for URLs of bearerd's listeners.
  static func verdict(
    on field: Field, of bytes: [UInt8], _ context: ResponseForwarding.Context, _ room: inout RewriteBudget
  ) -> Verdict {
    let search = SelfReferenceCheck(context)
    var verdict = search.checkURLs(in: bytes, field.value, &room)
    guard case .passes = verdict else { return verdict }
    let value = bytes[field.value]
    if value.contains(where: { $0 == UInt8(ascii: "\\") || $0 == 0x09 }) {
      // Browsers ignore tabs in a URL. A quoted string may have a backslash before any byte (RFC 9110 §5.6.4).
      let joined = value.filter { $0 != 0x09 }
      verdict = search.checkURLs(in: joined, joined.indices, &room)
      guard case .passes = verdict else { return verdict }
      let plain = joined.filter { $0 != UInt8(ascii: "\\") }
      verdict = search.checkURLs(in: plain, plain.indices, &room)
      guard case .passes = verdict else { return verdict }
    }
    return field.known == .other ? search.path(value, &room) : .passes
  }

  // MARK: authorities

  /// Checks each authority after `//`, or after the colon of a scheme that browsers accept without slashes.
  private func checkURLs(in text: [UInt8], _ range: Range<Int>, _ room: inout RewriteBudget) -> Verdict {
    var index = range.lowerBound
    // The end of the last authority. Bytes before it are not checked again.
    var end = index
    while index < range.upperBound {
      let isColon = text[index] == UInt8(ascii: ":")
      guard isColon || Self.isSlash(text[index]) else {
        index += 1
        continue
      }
      let scheme = isColon ? Self.scheme(before: index, of: text, range) : nil
      var start = isColon ? index + 1 : index
      let slashes = start
      while start < range.upperBound, Self.isSlash(text[start]) { start += 1 }
      index = start
      guard scheme != nil || start - slashes >= 2 else { continue }
      if end < start { end = start }
      while end < range.upperBound, !Self.endsAuthority(text[end]) { end += 1 }
      let verdict = authority(text[start..<end], scheme ?? .http, &room)
      guard case .passes = verdict else { return verdict }
    }
    return .passes
  }

  /// Checks the part of a URL with user, host and port.
  private func authority(
    _ text: ArraySlice<UInt8>, _ scheme: Origin.Scheme, _ room: inout RewriteBudget
  ) -> Verdict {
    if text.isEmpty { return .passes }
    guard room.spendReference(text.count) else { return .dropped }
    // Userinfo extends to the last `@`. One pass only, because an upstream can send 2,000 long texts.
    var (host, end) = (text.startIndex, text.endIndex)
    var firstItem: Range<Int>?
    for index in text.indices {
      if text[index] == UInt8(ascii: "@") {
        (host, end) = (index + 1, text.endIndex)
      } else if end == text.endIndex, Self.isDelimiter(text[index]) {
        end = index
        if firstItem == nil { firstItem = host..<end }
      }
    }
    if isOurs(text[host..<end], scheme) { return .ours }
    guard let firstItem, firstItem != host..<end else { return .passes }
    return isOurs(text[firstItem], scheme) ? .ours : .passes
  }

  private func isOurs(_ authority: ArraySlice<UInt8>, _ scheme: Origin.Scheme) -> Bool {
    switch Reference.authority(scheme: scheme, authority) {
    case .absolute(let other, _): !upstream.isReached(by: other) && RewrittenReference.isOurs(other, context)
    case .unreadable(let ports): ports.contains(where: context.isOwnPort)
    case .relative, .absolutePath, .otherScheme, .odd: false
    }
  }

  /// Returns the scheme before the colon. `nil` if browsers need slashes after the scheme.
  private static func scheme(before colon: Int, of text: [UInt8], _ range: Range<Int>) -> Origin.Scheme? {
    func ends(_ name: String) -> Bool {
      let start = colon - name.utf8.count
      return start >= range.lowerBound && FieldName.matches(start..<colon, of: text.span, name)
    }
    if ends("https") || ends("wss") { return .https }
    return ends("http") || ends("ws") ? .http : nil
  }

  private static func isSlash(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\") }

  private static func endsAuthority(_ byte: UInt8) -> Bool {
    switch byte {
    case 0...0x20, 0x7F, UInt8(ascii: "\""), UInt8(ascii: "#"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "?"):
      true
    default: isSlash(byte)
    }
  }

  /// Whether the byte can occur in userinfo (RFC 3986 §3.2.1), but can also end a URL in a list.
  private static func isDelimiter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: ")"), UInt8(ascii: ","), UInt8(ascii: ";"),
      UInt8(ascii: "|"), UInt8(ascii: "}"):
      true
    default: false
    }
  }

  // MARK: paths

  /// Checks a value that is a path.
  private func path(_ value: ArraySlice<UInt8>, _ room: inout RewriteBudget) -> Verdict {
    let (services, own) = (context.snapshot.rules.services, context.route.service)
    // A service with its own host name has all paths, and a single service has no neighbors.
    if case .host = services[own].mount { return .passes }
    if services.count == 1 { return .passes }
    guard value.count <= Self.longestPath, room.spendReference(value.count) else { return .dropped }
    let reference = value.map { $0 == UInt8(ascii: "\\") ? UInt8(ascii: "/") : $0 }
    var resolved: [UInt8]
    switch Reference(reference, scheme: .http) {
    case .absolutePath, .relative:
      guard room.spend(context.path.count) else { return .dropped }
      resolved = Reference.resolve(reference, against: context.path)
    case .absolute, .unreadable, .otherScheme, .odd: return .passes
    }
    if let fragment = resolved.firstIndex(of: UInt8(ascii: "#")) { resolved.removeSubrange(fragment...) }
    var target = CanonicalTarget()
    // A request with an invalid target is refused.
    guard (try? target.read(resolved.span)) != nil else { return .passes }
    let readings = [target.path] + target.readings
    guard room.spend(readings: readings) else { return .dropped }
    let leadsElsewhere = readings.contains { reading in
      let service = context.snapshot.rules.service(host: nil, path: reading, listener: services[own].listener)
      return service != nil && service != own
    }
    return leadsElsewhere ? .ours : .passes
  }

  /// Maximum length of a path to check, in bytes.
  private static let longestPath = 16_384
}
