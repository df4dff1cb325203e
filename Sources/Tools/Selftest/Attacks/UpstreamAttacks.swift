internal import Console
internal import Configuration
internal import TestServer
internal import Glibc
internal import Policy

/// Attacks that use unusual upstream URLs, or environment variables such as `HTTPS_PROXY`.
enum UpstreamAttacks {
  static let all: [Attack] = [
    Attack(28, "names that point inside", inside), Attack(29, "plain text", plain),
    Attack(30, "environment variables", environment),
  ]

  private static func inside(_ stage: SelftestStage, _ tally: inout AttackTally) throws -> Outcome {
    let targets = stage.verified
    guard !targets.isEmpty else { return .notApplicable("no upstream uses TLS") }
    let names = ["ip6-localhost", "ip6-loopback", "localhost.localdomain", "selftest.localhost"]
    guard let name = names.first(where: isResolvable) else {
      return .notApplicable("no other name than localhost points to this machine")
    }
    for target in targets {
      guard let upstream = stage.upstream(of: target) else { continue }
      let before = upstream.bytes
      try stage.withChangedConfiguration({ configuration in
        configuration.origins = configuration.origins.mapValues { $0 == target.upstream ? named(name, $0) : $0 }
      }) {
        let reply = try stage.send(target.request(), to: target)
        tally.check(
          reply.code == "address-forbidden" && upstream.bytes == before,
          "\(target.name): an upstream with the name \(name)",
          seen: reply.summary, expected: "502 address-forbidden, and nothing sent")
      }
    }
    return tally.outcome("\(name) points to this machine: nothing sent")
  }

  private static func named(_ name: String, _ origin: Origin) -> Origin {
    (try? Origin(parsing: "https://\(name):\(origin.port)")) ?? origin
  }

  private static func plain(_ stage: SelftestStage, _ tally: inout AttackTally) throws -> Outcome {
    for target in stage.onePerCredential {
      try stage.expectStartFailure("\(target.name): its credential over plain HTTP", &tally) {
        $0.upstream(of: target.name, is: "http://127.0.0.1:\(target.upstream.port)/")
      }
    }
    if let target = stage.targets.first {
      try stage.expectStartFailure("\(target.name): plain HTTP to another machine", &tally) {
        $0.upstream(of: target.name, is: "http://192.0.2.1/", credential: "none")
      }
    }
    return tally.outcome("\(tally.refused) configurations with plain HTTP refused")
  }

  private static func environment(_ stage: SelftestStage, _ tally: inout AttackTally) throws -> Outcome {
    let verified = Set(stage.verified.map(\.name))
    guard !verified.isEmpty else { return .notApplicable("no upstream uses TLS") }
    let keys = "\(stage.directory.path)/keys.log"
    let proxy = "http://127.0.0.1:\(stage.servers.evil.origin.port)"
    let variables = [
      "SSL_CERT_FILE": "\(stage.directory.path)/ca.pem", "SSLKEYLOGFILE": keys, "HTTPS_PROXY": proxy,
      "https_proxy": proxy, "ALL_PROXY": proxy,
    ]
    let before = variables.keys.map { ($0, getenv($0).map { String(cString: $0) }) }
    defer { for (name, value) in before { if let value { setenv(name, value, 1) } else { unsetenv(name) } } }
    for (name, value) in variables { setenv(name, value, 1) }
    let proxyConnections = stage.servers.evil.server.records.count
    for trust in [nil, "ca.pem"] as [String?] {
      try stage.withAnotherDaemon({ $0.authority = trust }) { daemon in
        for target in stage.targets(at: daemon) where verified.contains(target.name) {
          if trust == nil {
            try stage.expectRefusal(target.request(), to: target, "SSL_CERT_FILE", [502], &tally)
          } else {
            try stage.expectSuccess(target.request(), to: target, "proxies in the environment", &tally)
          }
        }
      }
    }
    tally.check(
      access(keys, F_OK) != 0, "SSLKEYLOGFILE", seen: "bearerd wrote its session keys", expected: "no such file")
    tally.check(
      stage.servers.evil.server.records.count == proxyConnections, "HTTPS_PROXY", seen: "the proxy was contacted",
      expected: "the proxy is not contacted")
    unlink(keys)
    return tally.outcome("\(variables.count) environment variables have no effect")
  }
}

private func isResolvable(_ name: String) -> Bool {
  var hints = addrinfo()
  hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
  var list: UnsafeMutablePointer<addrinfo>?
  guard getaddrinfo(name, nil, &hints, &list) == 0 else { return false }
  freeaddrinfo(list)
  return true
}

extension TestConfiguration {
  /// Changes the upstream of a service. If `credential` is not `nil`, also sets it and removes the rules.
  mutating func upstream(of service: String, is url: String, credential: String? = nil) {
    let isPlain = url.hasPrefix("http:")
    edit = {
      $0.set("services", service, "upstream", to: .text(url))
      if isPlain {
        for key in ["pins", "pin_mode", "backup_pin", "ca_file"] { $0.set("services", service, key, to: nil) }
      }
      guard let credential else { return }
      $0.set("services", service, "credential", to: .text(credential))
      $0.set("services", service, "rules", to: nil)
    }
  }
}
