internal import COpenSSL
package import Policy

/// Replaces `digest` by the SHA-256 of `bytes` (FIPS 180-4), 32 bytes. Returns `false` if OpenSSL fails.
package func sha256(of bytes: Span<UInt8>, into digest: inout [UInt8]) -> Bool {
  OpenSSLLibrary.start()
  ERR_clear_error()
  if digest.count != 32 { digest = [UInt8](repeating: 0, count: 32) }
  return bytes.withUnsafeBufferPointer { bytes in
    digest.withUnsafeMutableBufferPointer { SHA256(bytes.baseAddress, bytes.count, $0.baseAddress) != nil }
  }
}

/// Computes the SHA-1 of `bytes` (FIPS 180-4), 20 bytes, for the handshake of a WebSocket (RFC 6455 section 4.2.2). `nil` if OpenSSL
/// fails.
package func sha1(of bytes: Span<UInt8>) -> [UInt8]? {
  OpenSSLLibrary.start()
  ERR_clear_error()
  var digest = [UInt8](repeating: 0, count: 20)
  return bytes.withUnsafeBufferPointer { SHA1($0.baseAddress, $0.count, &digest) != nil } ? digest : nil
}

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

/// Computes HMAC-SHA-1 (RFC 2104), 20 bytes, for OAuth 1.0 signatures (RFC 5849). `nil` if OpenSSL fails.
package func hmacSHA1(of bytes: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer) -> [UInt8]? {
  hmac(EVP_sha1(), length: 20, of: bytes, key: key)
}

/// Computes HMAC-SHA-256 (RFC 2104), 32 bytes. `nil` if OpenSSL fails.
package func keyedDigest(of bytes: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer) -> [UInt8]? {
  hmac(EVP_sha256(), length: 32, of: bytes, key: key)
}

private func hmac(
  _ hash: OpaquePointer?, length: Int, of bytes: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer
) -> [UInt8]? {  // EVP_MD
  OpenSSLLibrary.start()
  ERR_clear_error()
  var digest = [UInt8](repeating: 0, count: length)
  var count: UInt32 = 0
  let result = HMAC(
    hash, key.baseAddress, Int32(clamping: key.count), bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
    bytes.count, &digest, &count)
  return result != nil && count == length ? digest : nil
}
