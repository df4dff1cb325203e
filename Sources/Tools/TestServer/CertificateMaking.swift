internal import COpenSSL

/// Generates a private key, which the caller must free.
func generateKey(_ kind: Certificate.Key) throws -> OpaquePointer {  // EVP_PKEY
  let key =
    switch kind {
    case .ec256: bearerd_generate_ec_key("P-256")
    case .ec384: bearerd_generate_ec_key("P-384")
    case .ec521: bearerd_generate_ec_key("P-521")
    case .rsa2048: bearerd_generate_rsa_key(2048)
    case .rsa1024: bearerd_generate_rsa_key(1024)
    case .ed25519: bearerd_generate_key("ED25519")
    }
  guard let key else { throw TestServerError.openSSL("generating a key") }
  return key
}

/// Creates a signed certificate (RFC 5280), which the caller must free.
func makeCertificate(
  _ options: Certificate.Options, key: OpaquePointer, issuer: Certificate?
) throws -> OpaquePointer {  // X509
  guard let certificate = X509_new() else { throw TestServerError.openSSL("X509_new") }
  do {
    try fill(certificate, options, key: key, issuer: issuer)
    return certificate
  } catch {
    X509_free(certificate)
    throw error
  }
}

private func fill(
  _ certificate: OpaquePointer, _ options: Certificate.Options, key: OpaquePointer, issuer: Certificate?
) throws {
  var serial: UInt64 = 0
  withUnsafeMutableBytes(of: &serial) {
    _ = RAND_bytes($0.baseAddress, 7)  // only 7 of 8 bytes: the serial stays positive
  }
  let name = X509_get_subject_name(certificate)
  guard
    X509_set_version(certificate, 2) == 1,
    ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial) == 1,
    X509_gmtime_adj(X509_getm_notBefore(certificate), options.notBefore) != nil,
    X509_gmtime_adj(X509_getm_notAfter(certificate), options.notAfter) != nil,
    X509_set_pubkey(certificate, key) == 1,
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, options.commonName, -1, -1, 0) == 1,
    X509_set_issuer_name(certificate, issuer.map { X509_get_subject_name($0.certificate) } ?? name) == 1
  else { throw TestServerError.openSSL("filling a certificate") }

  for (identifier, value) in extensions(options, isSelfSigned: issuer == nil) {
    try addExtension(identifier, value, to: certificate, issuer: issuer?.certificate ?? certificate)
  }

  let signer = issuer?.key ?? key
  // Ed25519 has a built-in digest
  let digest = EVP_PKEY_get_id(signer) == EVP_PKEY_ED25519 ? nil : options.hasWeakSignature ? EVP_sha1() : EVP_sha256()
  guard X509_sign(certificate, signer, digest) > 0 else { throw TestServerError.openSSL("X509_sign") }
}

private func extensions(_ options: Certificate.Options, isSelfSigned: Bool) -> [(Int32, String)] {
  var list: [(Int32, String)] = [(NID_subject_key_identifier, "hash")]
  if !isSelfSigned { list.append((NID_authority_key_identifier, "keyid:always")) }
  list.append((NID_basic_constraints, options.isCA ? "critical,CA:TRUE" : "critical,CA:FALSE"))
  list.append((NID_key_usage, options.isCA ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature"))
  let usage = options.ocspSigning ? "OCSPSigning" : options.serverAuth ? "serverAuth" : "clientAuth"
  if !options.isCA { list.append((NID_ext_key_usage, usage)) }
  let names = options.dnsNames.map { "DNS:\($0)" } + options.ipAddresses.map { "IP:\($0)" }
  if !names.isEmpty { list.append((NID_subject_alt_name, names.joined(separator: ","))) }
  if let constraints = options.nameConstraints { list.append((NID_name_constraints, "critical,\(constraints)")) }
  if options.mustStaple { list.append((NID_tlsfeature, "status_request")) }
  return list
}

/// Adds an extension in the syntax of x509v3_config(5) to a certificate (X509), or else to a revocation list (X509_CRL).
func addExtension(
  _ identifier: Int32, _ value: String, to certificate: OpaquePointer? = nil, toList list: OpaquePointer? = nil,
  issuer: OpaquePointer
) throws {
  var context = X509V3_CTX()
  X509V3_set_ctx(&context, issuer, certificate, nil, list, 0)
  let field = X509V3_EXT_nconf_nid(nil, &context, identifier, value)
  defer { X509_EXTENSION_free(field) }
  guard let field, (list.map { X509_CRL_add_ext($0, field, -1) } ?? X509_add_ext(certificate, field, -1)) == 1 else {
    throw TestServerError.openSSL("extension \(value)")
  }
}
