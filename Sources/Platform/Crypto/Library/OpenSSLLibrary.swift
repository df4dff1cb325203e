internal import COpenSSL

package enum OpenSSLLibrary {
  /// Initializes OpenSSL. Call this before any other use of OpenSSL. Ignores OPENSSL_CONF, because a configuration file
  /// could load providers and lower the security level (T30).
  package static func start() {
    _ = started
  }

  /// SHA-256 as an EVP_MD, fetched once, because EVP_sha256() searches the providers at each use. If this is `nil`,
  /// every digest fails. `nonisolated(unsafe)`, because OpenSSL's pointer is only read after creation.
  package nonisolated(unsafe) static let sha256: OpaquePointer? = EVP_MD_fetch(LeanLibrary.context, "SHA256", nil)

  private static let started: Bool = OPENSSL_init_ssl(UInt64(OPENSSL_INIT_NO_LOAD_CONFIG), nil) == 1
}
