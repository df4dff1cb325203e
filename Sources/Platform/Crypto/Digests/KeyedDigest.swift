internal import COpenSSL

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
