internal import Configuration
internal import Console
internal import TestServer

enum RevocationAttack {
  /// Attack T69: an upstream has a revoked certificate with the pinned key.
  @Sendable static func run(_ stage: SelftestStage, _ tally: inout AttackTally) throws -> Outcome {
    let services = stage.testConfiguration.tree["services"]
    let targets = stage.verified.filter { services?[$0.name]?["revocation"] != nil }
    guard !targets.isEmpty else { return .notApplicable("no service has revocation") }
    let authority = stage.servers.authority
    let revoked = try Certificate(.localhost, issuer: authority.root, reusingKeyOf: authority.leaf)
    var list = Certificate.ListOptions()
    list.revoked = [revoked]
    let file = "revoked.crl"
    try stage.directory.write(file, authority.root.revocationListPEM(list))
    try stage.withChangedConfiguration({ $0.revocationList = file }) {
      for target in targets {
        guard let checks = services?[target.name]?["revocation"] else { continue }
        try attack(target, checks, revoked, stage, &tally)
      }
    }
    return tally.outcome("\(counted(tally.refused, "connection")) refused, 0 bytes sent")
  }

  /// - Parameter checks: The target's `revocation`.
  private static func attack(
    _ target: Target, _ checks: ConfigurationTree, _ revoked: Certificate, _ stage: SelftestStage,
    _ tally: inout AttackTally
  ) throws {
    guard let upstream = stage.upstream(of: target) else { return }
    defer { try? upstream.replace(by: nil) }
    let authority = stage.servers.authority
    let good: Certificate = authority.leaf
    let isStapling = checks["stapling"] != nil
    if checks["crl_file"] != nil {
      // The staple is good, so only the list says that the certificate is revoked.
      try upstream.replace(by: [revoked], staple: isStapling ? authority.root.ocspResponse(for: revoked) : nil)
      try stage.expectRefusal(
        of: target, by: upstream, "a certificate on the revocation list", code: "certificate-revoked", &tally)
    }
    if isStapling {
      var options = Certificate.ResponseOptions()
      options.status = .revoked
      try upstream.replace(by: [good], staple: authority.root.ocspResponse(for: good, options))
      try stage.expectRefusal(
        of: target, by: upstream, "an OCSP response that says revoked", code: "certificate-revoked", &tally)
    }
    if checks.has("stapling", "require") {
      try upstream.replace(by: [good])
      try stage.expectRefusal(of: target, by: upstream, "no OCSP response", code: "staple-missing", &tally)
    }
    // Shows that nothing else was the reason.
    try upstream.replace(by: [good], staple: isStapling ? authority.root.ocspResponse(for: good) : nil)
    try stage.expectSuccess(target.request(), to: target, "a certificate that is not revoked", &tally)
  }
}
