internal import COpenSSL
package import Policy

extension TokenDigest {
  /// Computes the SHA-256 of a client token; `nil` if OpenSSL fails.
  package static func of(_ token: Span<UInt8>) -> TokenDigest? {
    OpenSSLLibrary.start()
    ERR_clear_error()
    return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32) { digest in
      let isDone = token.withUnsafeBufferPointer { SHA256($0.baseAddress, $0.count, digest.baseAddress) != nil }
      return isDone ? TokenDigest(UnsafeBufferPointer(digest).span) : nil
    }
  }
}
