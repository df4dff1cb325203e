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
    let origin = context.snapshot.rules.services[context.route.service].upstream.origin
    let reference = CleanReference.bytes(of: text, scheme: origin.scheme)
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
      } else if RewrittenReference.isOurs(other, context) {
        self = .ours
      } else if RewrittenReference.isOwnInClear(other, origin) {
        self = RewrittenReference.path(path, origin, plan, &room)
      } else {
        self = .reference(RewrittenReference.withScheme(reference, origin))
      }
    case .unreadable(let ports):
      self =
        ports.contains(where: context.isOwnPort)
        ? .ours : .reference(RewrittenReference.withScheme(reference, origin))
    }
  }

  /// An absolute path on the upstream: below the service's base it becomes local, elsewhere the upstream's URL.
  private static func path(
    _ path: [UInt8], _ origin: Origin, _ plan: ForwardingPlan, _ room: inout RewriteBudget
  ) -> RewrittenReference {
    .reference(local(path, plan, &room) ?? Array(origin.description.utf8) + path)
  }

  /// Whether a URL is the upstream's own but for `http`: servers behind a proxy that ends TLS write such URLs, with whatever port they
  /// have there. On this machine another port is another program.
  static func isOwnInClear(_ other: Origin, _ origin: Origin) -> Bool {
    guard origin.scheme == .https, other.scheme == .http, other.host == origin.host else { return false }
    return !origin.host.isLocal || other.port == origin.port || other.port == other.scheme.defaultPort
  }

  /// Returns the path here of a path of the upstream, or `nil` if the service does not have it.
  static func local(_ path: [UInt8], _ plan: ForwardingPlan, _ room: inout RewriteBudget) -> [UInt8]? {
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
    guard room.take(path.count) else { return true }
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

  /// By name, or by any way to write this machine with one of our ports, or with the port by which the client has come.
  static func isOurs(_ origin: Origin, _ context: ResponseForwarding.Context) -> Bool {
    if context.snapshot.ownAuthorities.contains("\(origin.host):\(origin.port)") { return true }
    guard context.isOwnPort(origin.port) else { return false }
    return switch origin.host {
    case .name: origin.host.isLocal
    case .address(let address): address.isLoopback || address.isForbiddenByDefault
    }
  }

  /// `//host/path` has the scheme of the page it stands on, which is the upstream's and not ours.
  private static func withScheme(_ reference: [UInt8], _ origin: Origin) -> [UInt8] {
    reference.first == UInt8(ascii: "/") ? Array("\(origin.scheme.rawValue):".utf8) + reference : reference
  }
}
