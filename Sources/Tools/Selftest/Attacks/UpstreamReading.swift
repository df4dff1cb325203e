internal import Gateway
internal import Policy

/// One way in which an upstream could interpret a path.
struct UpstreamReading {
  /// The decoded absolute path, which can contain `%2F`.
  let path: [UInt8]

  static func all(of target: String) -> [UpstreamReading] {
    let raw = Array(target.utf8.prefix { $0 != UInt8(ascii: "?") })
    let once = decoded(raw)
    let twice = decoded(once, keepingSlashes: true)
    var readings: [[UInt8]] = []
    for bytes in [raw, once, twice] {
      let slashes = bytes.map { $0 == UInt8(ascii: "\\") ? UInt8(ascii: "/") : $0 }
      let bare = withoutParameters(slashes)
      for variant in [bytes, slashes, bare] {
        readings += [false, true].map { resolved(variant, collapsing: $0) }
      }
    }
    return readings.map { UpstreamReading(path: decoded($0, keepingSlashes: true)) }
  }

  /// Whether the rules allow this path, with the credential if `request` has it.
  func isAllowed(for request: ReceivedRequest, _ target: Target, _ snapshot: Snapshot) -> Bool {
    let base = UpstreamReading.decoded(target.service.upstream.basePath)
    guard path.starts(with: base) else { return path + Array("/".utf8) == base }
    let below = Array(path.dropFirst(base.count).drop { $0 == UInt8(ascii: "/") })
    // A remaining `%2F` is either literal text, as in a rule, or an escape that no server decodes to a slash.
    return [true, false].contains { keepsSlashes in
      let local = target.mount + UpstreamReading.escaped(below, keepingSlashes: keepsSlashes)
      let head = "\(target.method) \(local) HTTP/1.1\r\nHost: \(target.authority)\r\n\r\n"
      let explanation = snapshot.explain(head, listener: target.service.listener)
      guard let explanation, explanation.refusal == nil else { return false }
      let hasCredential = target.grant.map { grant in
        snapshot.rules.grants[grant].fieldNames.contains { !request.values($0).isEmpty }
      }
      return explanation.route?.service == target.index && (hasCredential != true || explanation.grant != nil)
    }
  }

  private static func resolved(_ path: [UInt8], collapsing: Bool) -> [UInt8] {
    var segments: [ArraySlice<UInt8>] = []
    let all = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: collapsing).drop { $0.isEmpty }
    for segment in all {
      let name = decoded(Array(segment))
      if name == Array("..".utf8) {
        _ = segments.popLast()
      } else if name != Array(".".utf8) {
        segments.append(segment)
      }
    }
    return Array("/".utf8) + segments.joined(separator: [UInt8(ascii: "/")])
  }

  private static func withoutParameters(_ path: [UInt8]) -> [UInt8] {
    let segments = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    return Array(segments.map { $0.prefix { $0 != UInt8(ascii: ";") } }.joined(separator: [UInt8(ascii: "/")]))
  }

  static func decoded(_ bytes: [UInt8], keepingSlashes: Bool = false) -> [UInt8] {
    var output: [UInt8] = []
    var index = 0
    while index < bytes.count {
      let digits = bytes[index...].dropFirst().prefix(2)
      if bytes[index] == UInt8(ascii: "%"), digits.count == 2,
        let byte = UInt8(String(decoding: digits, as: UTF8.self), radix: 16),
        !(keepingSlashes && byte == UInt8(ascii: "/"))
      {
        output.append(byte)
        index += 3
      } else {
        output.append(bytes[index])
        index += 1
      }
    }
    return output
  }

  private static func escaped(_ path: [UInt8], keepingSlashes: Bool) -> String {
    var text = ""
    var index = 0
    while index < path.count {
      let escape = path[index...].prefix(3)
      if keepingSlashes, ["%2F", "%2f"].contains(String(decoding: escape, as: UTF8.self)) {
        text += "%2F"
        index += 3
        continue
      }
      let byte = path[index]
      let character = Character(UnicodeScalar(byte))
      let isPlain = character.isASCII && (character.isLetter || character.isNumber || "-._~/".contains(character))
      let digits = String(byte, radix: 16, uppercase: true)
      text += isPlain ? String(character) : "%" + (byte < 16 ? "0" : "") + digits
      index += 1
    }
    return text
  }
}
