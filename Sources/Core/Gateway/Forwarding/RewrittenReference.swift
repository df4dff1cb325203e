internal import Policy

/// The target of a URI reference in an answer, in the words of this client.
enum RewrittenReference: Equatable {
  case reference([UInt8])
  /// Nothing that could be passed on.
  case dropped
  /// One of our own listeners: a client that followed would ask with a credential, on an upstream's word (T32).
  case ours

  /// - Parameter room: of the head; what it has none for is dropped.
  init(_ text: [UInt8], _ context: ResponseForwarding.Context, _ room: inout RewriteBudget) {
    guard room.spendReference(text.count) else {
      self = .dropped
      return
    }
    let reference = RewrittenReference.escapingBlanks(text)
    let origin = context.snapshot.rules.services[context.route.service].upstream.origin
    let plan = context.snapshot.plans[context.route.service]
    switch Reference(reference, scheme: origin.scheme) {
    case .odd: self = .dropped
    case .otherScheme: self = .reference(reference)
    case .relative:
      // Most of them mean here what they mean there; those that could leave the service are made absolute.
      if Reference.endOfPath(reference) == 0 || !Reference.hasDotSegment(reference) && plan.nested.isEmpty {
        self = .reference(reference)
      } else {
        let base = plan.basePath + context.path.dropFirst(context.route.pathStart + 1)
        guard room.take(base.count) else {
          self = .dropped
          return
        }
        self = RewrittenReference.path(Reference.resolve(reference, against: base), origin, plan, &room)
      }
    case .absolutePath:
      let isPlain = !Reference.hasDotSegment(reference)
      self = RewrittenReference.path(
        isPlain ? reference : Reference.resolve(reference, against: plan.basePath), origin, plan, &room)
    case .absolute(let other, let path):
      if other == origin {
        self = RewrittenReference.path(path, origin, plan, &room)
      } else {
        self =
          RewrittenReference.isOurs(other, context.snapshot)
          ? .ours : .reference(RewrittenReference.withScheme(reference, origin))
      }
    case .unreadable(let ports):
      self =
        ports.contains(where: context.snapshot.ownPorts.contains)
        ? .ours : .reference(RewrittenReference.withScheme(reference, origin))
    }
  }

  /// An absolute path on the upstream: below the service's base it becomes local, elsewhere the upstream's URL.
  private static func path(
    _ path: [UInt8], _ origin: Origin, _ plan: ForwardingPlan, _ room: inout RewriteBudget
  ) -> RewrittenReference {
    .reference(local(path, plan, &room) ?? Array(origin.description.utf8) + path)
  }

  private static func local(_ path: [UInt8], _ plan: ForwardingPlan, _ room: inout RewriteBudget) -> [UInt8]? {
    guard path.starts(with: plan.basePath), !Reference.hasDotSegment(path) else { return nil }
    let local = plan.localBase + path[plan.basePath.count...]
    // `//host` would be an authority.
    if local.starts(with: "//".utf8) || isNested(local, plan, &room) { return nil }
    return local
  }

  /// Whether another service stands where the path leads, in any reading of it.
  private static func isNested(_ path: [UInt8], _ plan: ForwardingPlan, _ room: inout RewriteBudget) -> Bool {
    if plan.nested.isEmpty { return false }
    // No request can have it for a target by default; its own place is elsewhere, which is never wrong.
    if path.count > longestLocal { return true }
    var target = CanonicalTarget()
    do throws(PolicyRefusal) {
      try target.read(Array(path.prefix { $0 != UInt8(ascii: "#") }).span)
    } catch {
      return true
    }
    let readings = [target.path] + target.readings
    guard room.take(readings: readings) else { return true }
    return plan.nested.contains { mount in readings.contains { $0.starts(with: mount) } }
  }

  private static let longestLocal = 16_384

  /// By name, or by any way to write this machine with one of our ports.
  static func isOurs(_ origin: Origin, _ snapshot: Snapshot) -> Bool {
    if snapshot.ownAuthorities.contains("\(origin.host):\(origin.port)") { return true }
    guard snapshot.ownPorts.contains(origin.port) else { return false }
    return switch origin.host {
    case .name: origin.host.isLocal
    case .address(let address): address.isLoopback || address.isForbiddenByDefault
    }
  }

  /// `//host/path` has the scheme of the page it stands on, which is the upstream's and not ours.
  private static func withScheme(_ reference: [UInt8], _ origin: Origin) -> [UInt8] {
    reference.first == UInt8(ascii: "/") ? Array("\(origin.scheme.rawValue):".utf8) + reference : reference
  }

  /// Many servers write blanks as they are, and clients read them as `%20`.
  private static func escapingBlanks(_ text: [UInt8]) -> [UInt8] {
    guard text.contains(0x20) else { return text }
    var trimmed = text[...]
    while trimmed.first == 0x20 { trimmed = trimmed.dropFirst() }
    while trimmed.last == 0x20 { trimmed = trimmed.dropLast() }
    var escaped: [UInt8] = []
    for byte in trimmed {
      if byte == 0x20 { escaped.append(contentsOf: "%20".utf8) } else { escaped.append(byte) }
    }
    return escaped
  }
}
