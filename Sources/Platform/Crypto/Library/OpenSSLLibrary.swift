internal import COpenSSL

package enum OpenSSLLibrary {
  /// Initializes OpenSSL. Call this before any other use of OpenSSL. Ignores OPENSSL_CONF (T30).
  package static func start() {
    // A configuration file could load providers and lower the security level.
    _ = wipesMemory
  }

  // EVP_sha256() would search the providers at each use. `nonisolated(unsafe)` is safe here, because OpenSSL's pointer
  // is only read after creation.
  /// SHA-256 as an EVP_MD. If this is `nil`, every digest fails.
  package nonisolated(unsafe) static let sha256: OpaquePointer? = EVP_MD_fetch(LeanLibrary.context, "SHA256", nil)

  /// Whether `FreedMemory` works. `false` if other code used OpenSSL before `start`.
  static let wipesMemory: Bool = {
    let wipesMemory = FreedMemory.install()
    OPENSSL_init_ssl(UInt64(OPENSSL_INIT_NO_LOAD_CONFIG), nil)
    return wipesMemory
  }()
}
