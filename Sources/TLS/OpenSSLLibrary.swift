internal import COpenSSL

/// What OpenSSL needs once per process.
enum OpenSSLLibrary {
  /// Before anything else: no configuration file, whatever OPENSSL_CONF says, since it could load providers and lower the
  /// security level (T30).
  static func start() {
    _ = started
  }

  private static let started: Bool = OPENSSL_init_ssl(UInt64(OPENSSL_INIT_NO_LOAD_CONFIG), nil) == 1
}
