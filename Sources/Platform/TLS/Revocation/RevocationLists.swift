internal import COpenSSL
internal import Crypto

/// The certificate revocation lists of a file (RFC 5280 section 5).
///
/// `@unchecked` is safe here: the pointers do not change after `init`, and OpenSSL counts references atomically. `init`
/// sorts the entries, which OpenSSL would otherwise do in the first search.
package final class RevocationLists: @unchecked Sendable {
  // In every full handshake, OpenSSL hashes the lists that it uses, on the event loop: 4 MiB take 3 ms, or about 12 ms
  // on a processor without instructions for SHA-256. In memory, a list takes about six times its size.
  /// Maximum size of a file, in bytes.
  package static let maximumBytes = 4 << 20
  /// Maximum number of lists in a file.
  package static let maximumCount = 64

  package struct Description: Sendable, Equatable {
    package let issuer: String
    /// When the list expires, in seconds since 1970.
    package let nextUpdate: Int64
  }

  /// The lists, in file order.
  package private(set) var descriptions: [Description] = []
  /// SHA-256 of each list, joined.
  private(set) var fingerprint: [UInt8] = []
  private var lists: [OpaquePointer] = []  // X509_CRL, owned

  /// Reads one or more lists in PEM, or one list in DER. Throws if bearerd cannot use one of the lists.
  /// - Parameter name: Name of the source, for messages.
  package init(_ bytes: [UInt8], name: String) throws(TLSError) {
    OpenSSLLibrary.start()
    ERR_clear_error()
    defer { ERR_clear_error() }
    guard bytes.count <= Self.maximumBytes else {
      throw invalid(name, "it has more than \(Self.maximumBytes >> 20) MiB, the maximum for revocation lists")
    }
    let span = bytes.span
    try span.withUnsafeBytes { (bytes) throws(TLSError) in
      let isDER = bytes.count > 1 && bytes[0] == 0x30 && bytes[1] >= 0x80  // a long SEQUENCE
      try isDER ? readDER(bytes, name) : readPEM(bytes, name)
    }
    for (index, list) in lists.enumerated() {
      if let problem = problem(of: list) { throw invalid(name, "revocation list \(index + 1) \(problem)") }
      descriptions.append(
        Description(
          issuer: text(of: X509_CRL_get_issuer(list)), nextUpdate: seconds(X509_CRL_get0_nextUpdate(list)) ?? 0))
      fingerprint += digest(of: list)
      sort(list)
    }
  }

  deinit { for list in lists { X509_CRL_free(list) } }

  func add(to store: OpaquePointer) -> Bool {  // X509_STORE
    lists.allSatisfy { X509_STORE_add_crl(store, $0) == 1 }
  }

  private func readDER(_ bytes: UnsafeRawBufferPointer, _ name: String) throws(TLSError) {
    var position = bytes.bindMemory(to: UInt8.self).baseAddress
    // Created for the library that will parse it; `d2i_X509_CRL` frees it on failure.
    var created = X509_CRL_new_ex(LeanLibrary.context, nil)
    guard created != nil, let list = d2i_X509_CRL(&created, &position, bytes.count) else {
      throw invalid(name, "it is not a certificate revocation list in PEM or DER")
    }
    lists.append(list)
    guard let position, UnsafeRawPointer(position) == bytes.baseAddress.map({ $0 + bytes.count }) else {
      throw invalid(name, "there are bytes after the end of the revocation list: to join lists, convert them to PEM")
    }
  }

  private func readPEM(_ bytes: UnsafeRawBufferPointer, _ name: String) throws(TLSError) {
    let blocks = count(of: "-----BEGIN ", in: bytes)
    guard blocks > 0 else { throw invalid(name, "it is not a certificate revocation list in PEM or DER") }
    guard blocks <= Self.maximumCount else {
      throw invalid(name, "there are \(blocks) PEM blocks in it: at most \(Self.maximumCount) are allowed")
    }
    guard let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else {
      throw .internalError("BIO_new_mem_buf")
    }
    defer { BIO_free(bio) }
    for _ in 0..<blocks {
      var created = X509_CRL_new_ex(LeanLibrary.context, nil)
      guard created != nil, let list = PEM_read_bio_X509_CRL(bio, &created, nil, nil) else {
        X509_CRL_free(created)
        // OpenSSL skips blocks of another kind.
        let readable = "\(lists.count) of its \(blocks) PEM blocks are readable revocation lists (X509 CRL)"
        throw invalid(name, "\(readable): no other block is allowed")
      }
      lists.append(list)
    }
  }
}

private func invalid(_ name: String, _ problem: String) -> TLSError {
  TLSError(kind: .revocationUnknown, detail: "\(name): \(problem)")
}

/// Returns why bearerd cannot use a list, or `nil`.
private func problem(of list: OpaquePointer) -> String? {  // X509_CRL
  guard seconds(X509_CRL_get0_lastUpdate(list)) != nil else { return "has no readable thisUpdate" }
  guard seconds(X509_CRL_get0_nextUpdate(list)) != nil else {
    return "has no readable nextUpdate, so it never expires (RFC 5280 section 5.1.2.5 requires nextUpdate)"
  }
  // Without X509_V_FLAG_EXTENDED_CRL_SUPPORT, OpenSSL takes a delta list for a complete list.
  guard X509_CRL_get_ext_by_NID(list, NID_delta_crl, -1) < 0 else {
    return "is a delta list: put the complete list into the file"
  }
  var status: Int32 = 0
  guard let decoded = X509_CRL_get_ext_d2i(list, NID_issuing_distribution_point, &status, nil) else {
    return status == -1 ? nil : "has an unreadable issuing distribution point"
  }
  let point = decoded.assumingMemoryBound(to: ISSUING_DIST_POINT.self)
  defer { ISSUING_DIST_POINT_free(point) }
  // OpenSSL would ignore such a list, as if it were not in the file.
  let isPartial = point.pointee.onlysomereasons != nil || point.pointee.indirectCRL > 0 || point.pointee.onlyattr > 0
  let isEmpty = point.pointee.onlyuser > 0 && point.pointee.onlyCA > 0
  return isPartial || isEmpty
    ? "is indirect, or has only some reasons or attribute certificates: put the complete list of the issuer into the file"
    : nil
}

private func digest(of list: OpaquePointer) -> [UInt8] {
  [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { digest, count in
    var length: UInt32 = 0
    let status = X509_CRL_digest(list, OpenSSLLibrary.sha256, digest.baseAddress, &length)
    count = status == 1 ? Int(length) : 0
  }
}

/// Makes OpenSSL sort the entries of a list.
private func sort(_ list: OpaquePointer) {
  let serial = ASN1_INTEGER_new()
  defer { ASN1_INTEGER_free(serial) }
  var entry: OpaquePointer?  // X509_REVOKED
  X509_CRL_get0_by_serial(list, &entry, serial)
}
