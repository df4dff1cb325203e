internal import Policy

/// Checks whether a pin matches any certificate of the chain (RFC 7469 section 2.6, T22), and returns the first pin that
/// matched, and a remark for the log or `nil`. Call this only after the chain and the name are verified. Throws `pinMismatch` if no pin matches and
/// the policy enforces pins.
func evaluatePins(
  _ policy: PinPolicy, chain: [CertificateView], leafKey: [UInt8], host: HostName
) throws(TLSError) -> (SessionProof.PinVerdict, matched: Pin?, remark: String?) {
  guard !policy.pins.isEmpty else { return (.none, nil, nil) }
  let keys = [leafKey] + chain.dropFirst().map(\.keyDigest)
  let live = policy.pins.filter { keys.contains($0.digest) }
  guard live.isEmpty else {
    let hasBackup = live.count < policy.pins.count || policy.pins.count == 1
    return (
      .matched, live.first, hasBackup ? nil : "all pins of \(host) are in its current chain: there is no backup pin"
    )
  }
  let remark = mismatch(policy, chain: chain, host: host)
  switch policy.mode {
  case .enforce: throw TLSError(kind: .pinMismatch, detail: remark)
  case .report: return (.reported, nil, remark)
  }
}

private func mismatch(_ policy: PinPolicy, chain: [CertificateView], host: HostName) -> String {
  let seen = chain.compactMap { certificate in
    Pin(digest: certificate.keyDigest).map { "\($0) (\(certificate.subject))" }
  }
  var text =
    (policy.pins.count == 1 ? "the only pin of \(host) is not" : "none of the \(policy.pins.count) pins of \(host) is")
    + " in its verified chain: \(seen.joined(separator: ", "))"
  for certificate in chain {
    guard let mistaken = policy.pins.first(where: { $0.digest == certificate.fingerprint }) else { continue }
    text += "; your pin \(mistaken) is the hash of a certificate, but a pin is the hash of its key"
  }
  return text
}
