internal import Policy
internal import TestServer

/// The embedded upstreams of a selftest, and the authority that signs their certificates.
struct SelftestUpstreams {
  let authority: TestAuthority
  /// The answers of all upstreams, and the requests that they received.
  let script = UpstreamScript()
  /// One for each origin of the user's services.
  let all: [EmbeddedUpstream]
  /// One more, that nothing leads to.
  let evil: EmbeddedUpstream
  /// The origin of the upstream that stands in for each origin of the user's services.
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
