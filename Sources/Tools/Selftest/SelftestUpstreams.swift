internal import Policy

struct SelftestUpstreams {
  let authority: TestAuthority
  let script = UpstreamScript()
  /// One upstream for each origin of the user's services.
  let all: [EmbeddedUpstream]
  /// An additional upstream, to which bearerd must never connect.
  let evil: EmbeddedUpstream
  /// Maps each origin of the user's services to the origin of its embedded upstream.
  let standIns: [Origin: Origin]

  init(for services: [Service]) throws {
    authority = try TestAuthority()
    var standIns: [Origin: Origin] = [:]
    var all: [EmbeddedUpstream] = []
    for service in services where standIns[service.upstream.origin] == nil {
      let upstream = try EmbeddedUpstream(service.upstream.origin.scheme, authority: authority, script: script)
      standIns[service.upstream.origin] = upstream.origin
      all.append(upstream)
    }
    (self.all, self.standIns) = (all, standIns)
    evil = try EmbeddedUpstream(.https, authority: authority, script: script)
  }
}
