internal import COpenSSL
internal import Glibc

extension PrivateKeyNumbers {
  /// Returns an EVP_PKEY with these numbers, which the caller owns; `nil` if OpenSSL rejects the numbers.
  /// - Parameter point: The public part of an EC key, uncompressed (SEC 1 section 2.3.3). Signing does not need it.
  package borrowing func makeKey(in library: OpaquePointer? = nil, point: [UInt8] = []) -> OpaquePointer? {
    withNumbers { numbers in
      let (name, fields) =
        switch kind {
        case .rsa:
          ("RSA", ["n", "e", "d", "rsa-factor1", "rsa-factor2", "rsa-exponent1", "rsa-exponent2", "rsa-coefficient1"])
        case .p256, .p384: ("EC", ["priv"])
        }
      guard let context = EVP_PKEY_CTX_new_from_name(library, name, nil) else { return nil }
      defer { EVP_PKEY_CTX_free(context) }
      let texts = (fields + ["group", kind == .p384 ? "secp384r1" : "prime256v1", "pub"]).map { strdup($0) }
      defer { for text in texts { free(text) } }
      var parameters = zip(texts, numbers).map { text, number in
        OSSL_PARAM_construct_BN(text, number.baseAddress?.assumingMemoryBound(to: UInt8.self), number.count)
      }
      var point = point
      return point.withUnsafeMutableBytes { point in
        if kind != .rsa {
          parameters.append(OSSL_PARAM_construct_utf8_string(texts[1], texts[2], 0))
          if !point.isEmpty {
            parameters.append(OSSL_PARAM_construct_octet_string(texts[3], point.baseAddress, point.count))
          }
        }
        parameters.append(OSSL_PARAM_construct_end())
        var key: OpaquePointer?
        guard EVP_PKEY_fromdata_init(context) == 1,
          EVP_PKEY_fromdata(context, &key, bearerd_EVP_PKEY_KEYPAIR(), &parameters) == 1
        else { return nil }
        return key
      }
    }
  }
}
