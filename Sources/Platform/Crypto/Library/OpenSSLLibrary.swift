internal import COpenSSL

/// The settings that OpenSSL needs once per process.
package enum OpenSSLLibrary {
  /// Before anything else: no configuration file, whatever OPENSSL_CONF says, since it could load providers and lower the
  /// security level (T30).
  package static func start() {
    _ = started
  }

  /// An EVP_MD, found once: EVP_sha256() is looked for among the providers at each use. nil digests nothing.
  ///
  /// Unsafe, because it is OpenSSL's pointer: made once, under Swift's lock for statics, then only read.
  package nonisolated(unsafe) static let sha256: OpaquePointer? = EVP_MD_fetch(LeanLibrary.context, "SHA256", nil)

  private static let started: Bool = OPENSSL_init_ssl(UInt64(OPENSSL_INIT_NO_LOAD_CONFIG), nil) == 1
}
