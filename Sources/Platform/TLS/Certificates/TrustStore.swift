internal import COpenSSL
internal import Crypto
internal import Glibc
internal import Synchronization

/// Certificates that chains may end in: an X509_STORE, shared by contexts.
///
/// Unchecked: it holds OpenSSL's pointer, does not change after `init`, and OpenSSL locks it and counts references atomically.
package final class TrustStore: @unchecked Sendable {
  private let store: OpaquePointer  // X509_STORE
  /// SHA-256 over the certificates; part of a session's identity.
  package let fingerprint: [UInt8]

  /// PEM, one or more certificates; anything unreadable in it is an error, and so is a private key. `name` is for messages.
  ///
  /// They need not be roots: an intermediate or a self-signed server certificate is an anchor as well.
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
  }

  deinit { X509_STORE_free(store) }

  /// Makes it the store of an SSL_CTX, which takes a reference.
  func install(in context: OpaquePointer) {  // SSL_CTX
    SSL_CTX_set1_cert_store(context, store)
  }
}

extension TrustStore {
  /// The distribution's bundle at its well-known paths; SSL_CERT_FILE and SSL_CERT_DIR are not looked at (T30). Read
  /// anew only when the file has changed: it costs 45 ms.
  package static func system() throws(TLSError) -> TrustStore {
    try system(paths: wellKnownPaths)
  }

  /// Debian, Ubuntu, Alpine, Arch; Fedora, RHEL; openSUSE; older RHEL.
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
