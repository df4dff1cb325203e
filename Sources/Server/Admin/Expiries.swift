internal import Providers
internal import Gateway
internal import Generations
internal import Policy
package import Proxy
internal import Settings
internal import TLS
package import StatusModel

/// Lists what expires: pins, certificates of upstreams, client certificates and `ca_file`s.
package enum Expiries {
  /// Maximum age in seconds of the TLS handshake that showed an upstream's certificate. Later, the upstream may have
  /// another one.
  private static let maximumAge: Int64 = 7 * 86_400

  package static func all(of worker: Worker, _ counts: WorkerCounts, now: Int64) -> [DaemonStatus.Expiry] {
    let generation = worker.providers.generation
    var all: [DaemonStatus.Expiry] = []
    for server in generation.settings.tlsServers {
      let pinning = server.trust.pinning
      if let expires = pinning.expires, !pinning.pins.isEmpty {
        all.append(.init(.pins, pinning.policy.map { "pin_policies.\($0)" } ?? server.name, at: expires))
      }
      if let file = server.trust.caFile, let validity = generation.trust.validity(ofAuthorities: server.trust.files) {
        all.append(.init(.caFile, file, from: validity.begins, at: validity.ends))
      }
    }
    for credential in generation.settings.credentials {
      guard let validity = credential.certificate.flatMap(generation.trust.validity(of:)) else { continue }
      all.append(.init(.clientCertificate, credential.name, from: validity.begins, at: validity.ends))
    }
    for service in counts.services {
      guard let seen = service.counts.upstream, now - seen.seenAt < maximumAge else { continue }
      all.append(.init(.upstreamCertificate, service.name, from: seen.begins, at: seen.ends))
    }
    var seen: Set<DaemonStatus.Expiry> = []
    return all.filter { seen.insert($0).inserted }
  }
}
