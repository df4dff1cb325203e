internal import COpenSSL
package import Policy

/// Computes a digest of bytes that arrive in several calls of `add`.
package struct MessageDigest: ~Copyable {
  private let context: OpaquePointer  // EVP_MD_CTX
  private var isValid: Bool
  package let size: Int

  /// `nil` if OpenSSL fails.
  package init?(_ hash: DigestHash) {
    guard let algorithm = MessageDigests.algorithm(hash), let context = EVP_MD_CTX_new() else { return nil }
    ERR_clear_error()
    self.context = context
    size = hash.size
    isValid = EVP_DigestInit_ex(context, algorithm, nil) == 1 && EVP_MD_get_size(algorithm) == Int32(size)
  }

  deinit { EVP_MD_CTX_free(context) }

  package mutating func add(_ bytes: UnsafeRawBufferPointer) {
    if isValid, !bytes.isEmpty { isValid = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1 }
  }

  /// Writes the digest to the beginning of `bytes`. Returns `false` on failure. Call this only once.
  package mutating func finish(into bytes: UnsafeMutableRawBufferPointer) -> Bool {
    guard isValid, bytes.count >= size else { return false }
    isValid = false
    var count: UInt32 = 0
    let status = EVP_DigestFinal_ex(context, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), &count)
    return status == 1 && count == UInt32(size)
  }
}

/// Hash functions, each fetched once.
private enum MessageDigests {
  // `nonisolated(unsafe)` is safe for both, because OpenSSL's pointers are only read after creation.
  nonisolated(unsafe) static let md5: OpaquePointer? = EVP_MD_fetch(LeanLibrary.context, "MD5", nil)
  nonisolated(unsafe) static let sha512Truncated: OpaquePointer? = EVP_MD_fetch(LeanLibrary.context, "SHA512-256", nil)

  static func algorithm(_ hash: DigestHash) -> OpaquePointer? {
    switch hash {
    case .md5: md5
    case .sha256: OpenSSLLibrary.sha256
    case .sha512Truncated: sha512Truncated
    }
  }
}
