internal import HTTP1
internal import Policy

/// Fields that name places: resolved against the upstream; inside the service they become local, elsewhere absolute, so that
/// the client follows them without our help (T32).
enum PlaceRewriting {
  /// - Returns: false if the place is one of our own listeners.
  static func write(
    _ field: Field, of bytes: [UInt8], context: ResponseForwarding.Context, to output: inout [UInt8]
  ) -> Bool {
    let value = Array(bytes[field.value])
    let rewritten: [UInt8]?
    switch field.known {
    case .refresh: rewritten = refresh(value, context)
    case .link: rewritten = links(value, context)
    default: rewritten = place(value, context)
    }
    guard let rewritten else { return false }
    MessageWriter.field(name: bytes.span.extracting(field.name), value: rewritten.span, to: &output)
    return true
  }

  /// One URI reference; nil: it is ours.
  static func place(_ reference: [UInt8], _ context: ResponseForwarding.Context) -> [UInt8]? {
    let service = context.snapshot.rules.services[context.route.service]
    let plan = context.snapshot.plans[context.route.service]
    switch Reference(reference, scheme: service.upstream.origin.scheme) {
    case .relative:
      guard hasDotSegment(reference) else { return reference }
      let path = Reference.resolve(
        reference, against: plan.basePath + context.path.dropFirst(context.route.pathStart + 1))
      return local(path, plan) ?? absolute(path, service.upstream.origin)
    case .odd: return []
    case .absolutePath(let path): return local(path, plan) ?? absolute(path, service.upstream.origin)
    case .absolute(let origin, let path):
      if origin == service.upstream.origin { return local(path, plan) ?? reference }
      return context.snapshot.ownAuthorities.contains(ownAuthority(origin)) ? nil : reference
    case .otherScheme: return reference
    }
  }

  /// The path below the service's base, moved to where the service stands here.
  private static func local(_ path: [UInt8], _ plan: ForwardingPlan) -> [UInt8]? {
    guard path.starts(with: plan.basePath), !hasDotSegment(path) else { return nil }
    return plan.localBase + path[plan.basePath.count...]
  }

  private static func absolute(_ path: [UInt8], _ origin: Origin) -> [UInt8] {
    Array(origin.description.utf8) + path
  }

  private static func ownAuthority(_ origin: Origin) -> String { "\(origin.host):\(origin.port)" }

  private static func hasDotSegment(_ path: [UInt8]) -> Bool {
    let end = path.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? path.count
    for segment in path[..<end].split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: true) {
      let text = String(decoding: segment, as: UTF8.self).lowercased()
      if text == "." || text == ".." || text == "%2e" || text == "%2e%2e" || text == ".%2e" || text == "%2e." {
        return true
      }
    }
    return false
  }

  /// `5; url=/next`
  private static func refresh(_ value: [UInt8], _ context: ResponseForwarding.Context) -> [UInt8]? {
    let lower = value.map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 }
    let needle = Array("url=".utf8)
    guard let start = lower.indices.first(where: { lower[$0...].starts(with: needle) }) else { return value }
    var reference = value[(start + 4)...]
    if let quote = reference.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
      reference = reference.dropFirst()
      if let end = reference.firstIndex(of: quote) { reference = reference[..<end] }
    }
    guard let place = place(Array(reference), context) else { return nil }
    return Array(value[..<(start + 4)]) + place
  }

  /// `</next>; rel="next", <…>`: what stands between angle brackets, outside quoted strings.
  private static func links(_ value: [UInt8], _ context: ResponseForwarding.Context) -> [UInt8]? {
    var result: [UInt8] = []
    var index = 0
    var isQuoted = false
    while index < value.count {
      let byte = value[index]
      if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
      guard byte == UInt8(ascii: "<"), !isQuoted, let end = value[index...].firstIndex(of: UInt8(ascii: ">")) else {
        result.append(byte)
        index += 1
        continue
      }
      guard let place = place(Array(value[(index + 1)..<end]), context) else { return nil }
      result.append(byte)
      result.append(contentsOf: place)
      index = end
    }
    return result
  }
}
