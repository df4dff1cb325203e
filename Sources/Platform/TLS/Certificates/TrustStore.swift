internal import COpenSSL
internal import Crypto
internal import Glibc
internal import Synchronization

/// The certificates in which chains may end. Contexts share a store.
package final class TrustStore: @unchecked Sendable {
  // `@unchecked` is safe here, because the pointer does not change after `init`, and OpenSSL locks the store and counts
  // references atomically.
  private let store: OpaquePointer  // X509_STORE
  /// SHA-256 over the certificates and revocation lists.
  package let fingerprint: [UInt8]
  /// The validity of the certificate that expires first.
  package let validity: Validity
  let hasRevocationLists: Bool

  /// Reads one or more certificates in PEM. Any certificate can be an anchor, also an intermediate or a self-signed
  /// server certificate. Throws if a block is not a readable certificate.
  /// - Parameter name: Name of the source, for messages.
  package init(pem: [UInt8], name: String) throws(TLSError) {
    OpenSSLLibrary.start()
    let certificates = try CertificateFile(pem, name: name)
    guard let store = X509_STORE_new() else { throw .internalError("X509_STORE_new") }
    var digests: [UInt8] = []
    for certificate in certificates.views {
      guard X509_STORE_add_cert(store, certificate.pointer) == 1 else {
        X509_STORE_free(store)
        throw .internalError("\(name): X509_STORE_add_cert")
      }
      digests += certificate.fingerprint
    }
    self.store = store
    fingerprint = digests.withUnsafeBytes(sha256)
    validity =
      certificates.views.map(\.validity).min { $0.ends < $1.ends }
      ?? Validity(begins: 0, ends: 0)
    hasRevocationLists = false
  }

  /// Makes a store with the certificates of another store, and with revocation lists that must cover each leaf. The
  /// stores share the memory of the certificates.
  package init(_ base: TrustStore, lists: RevocationLists) throws(TLSError) {
    ERR_clear_error()
    guard let certificates = X509_STORE_get1_all_certs(base.store) else {
      throw .internalError("X509_STORE_get1_all_certs")
    }
    defer { bearerd_sk_X509_pop_free(certificates) }
    guard let store = X509_STORE_new() else { throw .internalError("X509_STORE_new") }
    let isFilled =
      (0..<bearerd_sk_X509_num(certificates)).allSatisfy { index in
        X509_STORE_add_cert(store, bearerd_sk_X509_value(certificates, index)) == 1
      } && lists.add(to: store)
    guard isFilled else {
      X509_STORE_free(store)
      throw .internalError("filling a store with revocation lists")
    }
    RevocationListCheck.install(in: store)
    self.store = store
    fingerprint = (base.fingerprint + lists.fingerprint).withUnsafeBytes(sha256)
    validity = base.validity
    hasRevocationLists = true
  }

  deinit { X509_STORE_free(store) }

  func install(in context: OpaquePointer) {  // SSL_CTX
    SSL_CTX_set1_cert_store(context, store)
  }

  /// Returns the system's certificate authorities. Ignores SSL_CERT_FILE and SSL_CERT_DIR (T30).
  package static func system() throws(TLSError) -> TrustStore {
    // Reads the file again only if it has changed, because reading takes 45 ms.
    try system(paths: wellKnownPaths)
  }

  /// Paths of the bundles of Debian, Ubuntu, Alpine and Arch; Fedora and RHEL; openSUSE; older RHEL.
  private static let wellKnownPaths = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
  ]

  static func system(paths: [String]) throws(TLSError) -> TrustStore {
    for path in paths {
      guard let version = FileVersion(path) else { continue }
      return try cached.withLock { (cached) throws(TLSError) in
        if let cached, cached.version == version { return cached.store }
        let store = try TrustStore(pem: readFile(path), name: path)
        cached = (version, store)
        return store
      }
    }
    throw TLSError(
      kind: .internalError,
      detail:
        "no bundle of certificate authorities at \(paths.joined(separator: ", ")): install ca-certificates or set ca_file"
    )
  }

  private static let cached = Mutex<(version: FileVersion, store: TrustStore)?>(nil)
}

private struct FileVersion: Equatable, Sendable {
  let path: String
  let numbers: [Int]

  init?(_ path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    self.path = path
    numbers = [
      Int(status.st_dev), Int(status.st_ino), Int(status.st_size), status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
    ]
  }
}

private func readFile(_ path: String) throws(TLSError) -> [UInt8] {
  let descriptor = open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { throw unreadable(path) }
  defer { close(descriptor) }
  var bytes: [UInt8] = []
  var chunk = [UInt8](repeating: 0, count: 65_536)
  while true {
    let count = read(descriptor, &chunk, chunk.count)
    guard count >= 0 else { throw unreadable(path) }
    guard count > 0 else { return bytes }
    bytes += chunk.prefix(count)
  }
}

private func unreadable(_ path: String) -> TLSError {
  TLSError(kind: .internalError, detail: "\(path): \(String(cString: strerror(errno)))")
}
