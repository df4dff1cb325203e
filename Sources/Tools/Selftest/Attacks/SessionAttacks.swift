internal import Console
internal import TestServer
internal import Policy

/// Servers that pretend to be the upstream, and connections that bearerd must not share between credentials.
enum SessionAttacks {
  static let all: [Attack] = [
    Attack(21, "resumption after a change", resumption), Attack(22, "a server with another key", keys),
    Attack(23, "bytes before the verification", early), Attack(24, "invalid certificates", certificates),
    Attack(25, "shared connections", identities), Attack(69, "revoked certificates", RevocationAttack.run),
  ]

  private static func pinned(_ stage: SelftestStage) -> [Target] {
    stage.verified.filter { !$0.service.trust.pinning.pins.isEmpty && $0.service.trust.pinning.mode == .enforce }
  }

  private static func resumption(_ stage: SelftestStage, _ tally: inout AttackTally) throws -> Outcome {
    let targets = stage.verified
    guard let first = targets.first else { return .notApplicable("no upstream uses TLS") }
    // Creates TLS sessions that bearerd could resume.
    for target in targets { try stage.expectSuccess(target.request(), to: target, "before", &tally) }
    let others = [try stage.servers.authority.leaf().pin, try stage.servers.authority.leaf().pin]
    try stage.withChangedConfiguration({ $0.pins = others }) {
      for target in pinned(stage) { try refuse(target, "after a change of the pins", stage, &tally) }
    }
    try stage.withChangedConfiguration({ $0.authority = "stranger.pem" }) {
      for target in targets { try refuse(target, "after a change of the authority", stage, &tally) }
    }
    try stage.expectSuccess(first.request(), to: first, "afterwards", &tally)
    let changes = pinned(stage).isEmpty ? "another authority" : "other pins and another authority"
    return tally.outcome("\(changes) after a reload: \(counted(tally.refused, "request")) refused, 0 bytes sent")
  }

  private static func keys(_ stage: SelftestStage, _ tally: inout AttackTally) throws -> Outcome {
    let targets = pinned(stage)
    let disguises = PinPolicyAttack.disguises(stage)
    guard !targets.isEmpty || !disguises.isEmpty else {
      let isReported = stage.verified.contains {
        $0.service.trust.pinning.mode == .report || PinPolicyAttack.onlyReports($0, stage)
      }
      return .notApplicable(isReported ? "pins are only reported (pin_mode: report)" : "no service has pins")
    }
    let other = try stage.servers.authority.leaf()
    for target in targets {
      for (name, chain) in [
        ("another key", [other]),
        ("another key, the pinned certificate appended", [other, stage.servers.authority.leaf]),
        ("another key, its authority appended", [other, stage.servers.authority.root]),
      ] {
        try impostor(chain, name, target, stage, &tally)
      }
    }
    try PinPolicyAttack.run(disguises, stage, &tally)
    let excluded = Set(disguises.filter(\.isExcluded).map(\.name)).count
    let rest = excluded == 0 ? "" : "; \(counted(excluded, "excluded name")) without pins"
    return tally.outcome("\(counted(tally.refused, "chain")) refused, 0 bytes sent\(rest)")
  }

  private static func early(_ stage: SelftestStage, _ tally: inout AttackTally) throws -> Outcome {
    let targets = stage.verified
    guard !targets.isEmpty else { return .notApplicable("no upstream uses TLS") }
    let chain = [try stage.servers.authority.leaf(by: stage.servers.authority.untrustedRoot)]
    for target in targets {
      guard let upstream = stage.upstream(of: target) else { continue }
      try upstream.replace(by: chain)
      for _ in 0..<5 {
        let request = target.request("Content-Length: 5", body: "hello")
        try stage.expectRefusal(request, to: target, "a request with a body", [502], &tally)
      }
      tally.check(
        upstream.bytes == 0, "\(target.name): \(counted(upstream.server.records.count, "handshake"))",
        seen: "\(upstream.bytes) bytes", expected: "0 bytes")
      try upstream.replace(by: nil)
    }
    return tally.outcome("\(tally.refused) handshakes with an untrusted server: 0 bytes sent")
  }

  private static func certificates(_ stage: SelftestStage, _ tally: inout AttackTally) throws -> Outcome {
    let targets = stage.verified
    guard !targets.isEmpty else { return .notApplicable("no upstream uses TLS") }
    let chains = try invalidCertificates(stage.servers.authority)
    for target in targets {
      for (name, certificate) in chains { try impostor([certificate], name, target, stage, &tally) }
    }
    return tally.outcome("\(chains.count) kinds of certificates: \(tally.refused) connections refused, 0 bytes sent")
  }

  /// Returns certificates with the pinned key that are invalid for different reasons.
  private static func invalidCertificates(
    _ authority: TestAuthority
  ) throws -> [(name: String, certificate: Certificate)] {
    func make(by issuer: Certificate?, _ change: (inout Certificate.Options) -> Void) throws -> Certificate {
      var options = Certificate.Options.localhost
      change(&options)
      return try Certificate(options, issuer: issuer, reusingKeyOf: authority.leaf)
    }
    return [
      ("another name", try make(by: authority.root) { $0.dnsNames = ["evil.test"] }),
      ("a name with the same beginning", try make(by: authority.root) { $0.dnsNames = ["localhost.evil.test"] }),
      ("half a wildcard", try make(by: authority.root) { $0.dnsNames = ["local*"] }),
      ("the name in the subject only", try make(by: authority.root) { ($0.dnsNames, $0.ipAddresses) = ([], []) }),
      ("expired", try make(by: authority.root) { ($0.notBefore, $0.notAfter) = (-7200, -3600) }),
      ("not valid yet", try make(by: authority.root) { $0.notBefore = 3600 }),
      ("for a client", try make(by: authority.root) { $0.serverAuth = false }),
      ("from an untrusted authority", try make(by: authority.untrustedRoot) { _ in }),
      ("self-signed", try make(by: nil) { _ in }),
    ]
  }

  private static func impostor(
    _ chain: [Certificate], _ name: String, _ target: Target, _ stage: SelftestStage, _ tally: inout AttackTally
  ) throws {
    guard let upstream = stage.upstream(of: target) else { return }
    try upstream.replace(by: chain)
    defer { try? upstream.replace(by: nil) }
    try refuse(target, name, stage, &tally)
  }

  private static func refuse(
    _ target: Target, _ name: String, _ stage: SelftestStage, _ tally: inout AttackTally
  ) throws {
    let upstream = stage.upstream(of: target)
    let before = upstream?.bytes ?? 0
    try stage.expectRefusal(target.request(), to: target, name, [502], &tally)
    let bytes = (upstream?.bytes ?? 0) - before
    tally.check(bytes == 0, "\(target.name): \(name)", seen: "\(bytes) bytes sent", expected: "0 bytes")
  }

  private static func identities(_ stage: SelftestStage, _ tally: inout AttackTally) throws -> Outcome {
    let groups = Dictionary(grouping: stage.injecting) { $0.upstream }.values
      .filter { Set($0.map(\.grant)).count > 1 }
    guard !groups.isEmpty else { return .notApplicable("no server gets two credentials") }
    for group in groups {
      let received = try stage.receivedDuring {
        for _ in 0..<20 {
          for target in group {
            try stage.expectSuccess(target.request(), to: target, "an alternating request", &tally)
          }
        }
      }
      for (_, requests) in Dictionary(grouping: received, by: \.connection) {
        let seen = stage.canaries.filter { canary in requests.contains { $0.head.contains(canary.value) } }
        let credentials = Set(seen.map(\.credential))
        tally.check(
          credentials.count <= 1, group.map(\.name).joined(separator: ", "),
          seen: "\(credentials.count) credentials on one connection", expected: "one")
      }
    }
    return tally.outcome("\(counted(tally.passed, "alternating request")): one credential per connection")
  }
}
