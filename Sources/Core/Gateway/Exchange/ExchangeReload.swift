internal import Policy

// The effect of a new configuration on an exchange that the previous configuration allowed.
extension Exchange {
  func isStillAllowed(by new: Snapshot, at arrival: Arrival) -> Bool {
    guard let snapshot, let route else { return false }
    var again = Exchange()
    again.head = head
    again.headEnded()
    let proven = Arrival(
      listener: arrival.listener, caller: caller, isLocalSocket: arrival.isLocalSocket, localEnd: arrival.localEnd)
    guard again.decide(by: new, at: proven) == nil, let newRoute = again.route else { return false }
    let old = snapshot.rules.services[route.service]
    let service = new.rules.services[newRoute.service]
    return old.name == service.name && old.upstream.origin == service.upstream.origin
      && old.upstream.dialHost == service.upstream.dialHost && old.trust == service.trust
      && snapshot.rules.grant(of: route) == new.rules.grant(of: newRoute)
      && forwarding.upgrade.map { service.upgrades.contains($0) } ?? true
  }
}
