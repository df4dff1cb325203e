internal import COpenSSL
package import Policy

/// One digest, made of pieces. What OpenSSL keeps of them is wiped when it is finished or given up.
package struct MessageDigest: ~Copyable {
  private let context: OpaquePointer  // EVP_MD_CTX
  private var isGood: Bool
  package let size: Int

  /// nil: OpenSSL cannot.
  package init?(_ hash: DigestHash) {
    guard let algorithm = MessageDigests.algorithm(hash), let context = EVP_MD_CTX_new() else { return nil }
    ERR_clear_error()
    self.context = context
    size = hash.size
    isGood = EVP_DigestInit_ex(context, algorithm, nil) == 1 && EVP_MD_get_size(algorithm) == Int32(size)
  }

  deinit { EVP_MD_CTX_free(context) }

  package mutating func add(_ bytes: UnsafeRawBufferPointer) {
    if isGood, !bytes.isEmpty { isGood = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1 }
  }

  /// Writes it to the beginning of `bytes`. Once only. False: something failed, and nothing there counts.
  package mutating func finish(into bytes: UnsafeMutableRawBufferPointer) -> Bool {
    guard isGood, bytes.count >= size else { return false }
    isGood = false
    var count: UInt32 = 0
    let status = EVP_DigestFinal_ex(context, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), &count)
    return status == 1 && count == UInt32(size)
  }
}

/// Found once each, as `OpenSSLLibrary.sha256` is; and for the same reason unsafe.
private enum MessageDigests {
  nonisolated(unsafe) static let md5: OpaquePointer? = EVP_MD_fetch(LeanLibrary.context, "MD5", nil)
  nonisolated(unsafe) static let sha512Half: OpaquePointer? = EVP_MD_fetch(LeanLibrary.context, "SHA512-256", nil)

  static func algorithm(_ hash: DigestHash) -> OpaquePointer? {
    switch hash {
    case .md5: md5
    case .sha256: OpenSSLLibrary.sha256
    case .sha512Half: sha512Half
    }
  }
}
