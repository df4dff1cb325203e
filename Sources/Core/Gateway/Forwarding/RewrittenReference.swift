internal import Policy

/// The result of rewriting a URI reference in a response for this client.
enum RewrittenReference: Equatable {
  case reference([UInt8])
  case dropped
  /// The reference leads to one of bearerd's listeners (T32).
  case ours

  /// Rewrites a reference.
  /// - Parameter room: the budget of the response head. If it is exhausted, the reference is dropped.
  init(_ text: [UInt8], _ context: ResponseForwarding.Context, _ room: inout RewriteBudget) {
    guard room.spendReference(text.count) else {
      self = .dropped
      return
    }
    let upstream = context.snapshot.rules.services[context.route.service].upstream
    let origin = upstream.origin
    let reference = CleanReference.bytes(of: text, scheme: origin.scheme)
    let plan = context.snapshot.plans[context.route.service]
    switch Reference(reference, scheme: origin.scheme) {
    case .odd: self = .dropped
    case .otherScheme: self = .reference(reference)
    case .relative:
      // Most relative references have the same meaning locally. References that could leave the service become
      // absolute.
      if Reference.endOfPath(reference) == 0 || !Reference.hasDotSegment(reference) && plan.nested.isEmpty {
        self = .reference(reference)
      } else {
        let base = plan.basePath + context.path.dropFirst(context.route.pathStart + 1)
        guard room.spend(base.count) else {
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
      if upstream.isReached(by: other) {
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

  /// Converts an absolute path on the upstream to a local path or to a URL of the upstream.
  private static func path(
    _ path: [UInt8], _ origin: Origin, _ plan: ForwardingPlan, _ room: inout RewriteBudget
  ) -> RewrittenReference {
    .reference(local(path, plan, &room) ?? Array(origin.description.utf8) + path)
  }

  /// Whether `other` is an http URL of the https upstream.
  static func isOwnInClear(_ other: Origin, _ origin: Origin) -> Bool {
    guard origin.scheme == .https, other.scheme == .http, other.host == origin.host else { return false }
    return !origin.host.isLocal || other.port == origin.port || other.port == other.scheme.defaultPort
  }

  /// Returns the local path for a path on the upstream. `nil` if the path is outside the service.
  static func local(_ path: [UInt8], _ plan: ForwardingPlan, _ room: inout RewriteBudget) -> [UInt8]? {
    guard path.starts(with: plan.basePath), !Reference.hasDotSegment(path) else { return nil }
    let local = plan.localBase + path[plan.basePath.count...]
    // `//host` would be an authority.
    if local.starts(with: "//".utf8) || isNested(local, plan, &room) { return nil }
    return local
  }

  /// Whether the path is below the mount of another service. `true` if this cannot be checked.
  private static func isNested(_ path: [UInt8], _ plan: ForwardingPlan, _ room: inout RewriteBudget) -> Bool {
    if plan.nested.isEmpty { return false }
    // Too long for a request target by default. A URL of the upstream is always right.
    if path.count > longestLocal { return true }
    guard room.spend(path.count) else { return true }
    var target = CanonicalTarget()
    let withoutFragment = Array(path.prefix { $0 != UInt8(ascii: "#") })
    guard (try? target.read(withoutFragment.span)) != nil else { return true }
    let readings = [target.path] + target.readings
    guard room.spend(readings: readings) else { return true }
    return plan.nested.contains { mount in readings.contains { $0.starts(with: mount) } }
  }

  private static let longestLocal = 16_384

  /// Whether the origin leads to bearerd.
  static func isOurs(_ origin: Origin, _ context: ResponseForwarding.Context) -> Bool {
    if context.snapshot.ownAuthorities.contains("\(origin.host):\(origin.port)") { return true }
    guard context.isOwnPort(origin.port) else { return false }
    return switch origin.host {
    case .name: origin.host.isLocal
    case .address(let address): address.isLoopback || address.isForbiddenByDefault
    }
  }

  /// Adds the upstream's scheme to `//host/path`, to which the client would add the local scheme.
  private static func withScheme(_ reference: [UInt8], _ origin: Origin) -> [UInt8] {
    reference.first == UInt8(ascii: "/") ? Array("\(origin.scheme.rawValue):".utf8) + reference : reference
  }
}
