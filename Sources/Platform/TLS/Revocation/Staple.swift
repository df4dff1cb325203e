internal import COpenSSL
internal import Policy

/// An OCSP response that an upstream sends in its handshake (RFC 6066 section 8, RFC 6960).
enum Staple {
  // An upstream must be verified before its staple is read, and pays for the work with a valid certificate.

  // OpenSSL decodes all keys of all certificates in a staple: 16 KiB of small certificates take 8 ms. TLS 1.2 of OpenSSL
  // has the same limit.
  /// Maximum size in bytes. Most staples have 500 to 2,000 bytes.
  static let maximumBytes = 16_384
  /// Maximum age in seconds of a staple without `nextUpdate`.
  static let maximumAge: Int64 = 7 * 86_400
  /// How far the responder's clock may be ahead of ours, in seconds.
  static let clockTolerance: Int64 = 300

  private enum Verdict {
    /// `until` is in seconds since 1970.
    case good(until: Int64)
    case revoked
    case unusable(String)
  }

  /// Checks the staple for the leaf of a verified chain. Returns when the staple expires, in seconds since 1970. `nil` if
  /// there is no usable staple, and the policy and the leaf require none.
  static func check(
    _ staple: UnsafeRawBufferPointer?, chain: [CertificateView], leafIsAnchor: Bool, policy: RevocationPolicy?,
    host: HostName, now: Int64
  ) throws(TLSError) -> Int64? {
    guard let stapling = policy?.stapling, let leaf = chain.first else { return nil }
    let issuer = leafIsAnchor ? nil : chain.dropFirst().first
    switch staple.map({ verdict($0, leaf, issuer, now) }) ?? .unusable("the upstream sent none") {
    case .good(let end): return end
    case .revoked:
      throw TLSError(
        kind: .certificateRevoked,
        detail: "the certificate of \(host), \(leaf.subject), is revoked: its issuer says so in a stapled OCSP response"
      )
    case .unusable(let problem):
      if stapling == .use, !leaf.requiresStaple { return nil }
      let reason = stapling == .require ? "stapling is require" : "the certificate requires one, RFC 7633"
      throw TLSError(
        kind: .stapleMissing,
        detail: "for the certificate of \(host), \(leaf.subject): \(problem) (\(reason))")
    }
  }

  private static func verdict(
    _ bytes: UnsafeRawBufferPointer, _ leaf: CertificateView, _ issuer: CertificateView?, _ now: Int64
  ) -> Verdict {
    defer { clearErrors() }
    guard let issuer else {
      return .unusable("bearerd trusts the certificate itself, and not its issuer, so no response can be verified")
    }
    guard bytes.count <= maximumBytes else {
      return .unusable("it has \(bytes.count) bytes, and bearerd reads at most \(maximumBytes)")
    }
    guard let response = OCSPResponse(bytes) else { return .unusable("it is not a successful OCSP response") }
    guard response.isSigned(by: issuer, now: now) else {
      return .unusable("neither the certificate's issuer nor a responder of this issuer has signed it")
    }
    let entries = response.entries(for: leaf, of: issuer)
    // A revocation is final, so the age of the response does not matter.
    if entries.contains(where: { $0.status == V_OCSP_CERTSTATUS_REVOKED }) { return .revoked }
    guard let entry = entries.first else { return .unusable("it is for another certificate") }
    guard entry.status == V_OCSP_CERTSTATUS_GOOD else { return .unusable("its status is not good") }
    guard let begins = entry.thisUpdate,
      let ends = entry.nextUpdate ?? (entry.hasNextUpdate ? nil : begins &+ maximumAge)
    else { return .unusable("its times cannot be read") }
    guard begins &- clockTolerance <= now else { return .unusable("it is not valid yet") }
    return now < ends ? .good(until: ends) : .unusable("it has expired")
  }
}

extension CertificateView {
  /// Whether the certificate must be used with a staple (RFC 7633).
  var requiresStaple: Bool {
    var status: Int32 = 0
    guard let decoded = X509_get_ext_d2i(pointer, NID_tlsfeature, &status, nil) else {
      // -1: no such extension. Otherwise it is malformed, or there are two.
      return status != -1
    }
    let features = OpaquePointer(decoded)
    defer { TLS_FEATURE_free(features) }
    return (0..<max(0, bearerd_sk_ASN1_INTEGER_num(features))).contains { index in
      ASN1_INTEGER_get(bearerd_sk_ASN1_INTEGER_value(features, index)) == Int(TLSEXT_TYPE_status_request)
    }
  }
}
