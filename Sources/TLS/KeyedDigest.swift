internal import COpenSSL

/// HMAC-SHA-1 (RFC 2104): 20 bytes, of a signature of RFC 5849; nil when OpenSSL cannot.
package func hmacSHA1(of bytes: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer) -> [UInt8]? {
  OpenSSLLibrary.start()
  ERR_clear_error()
  var digest = [UInt8](repeating: 0, count: 20)
  var count: UInt32 = 0
  let result = HMAC(
    EVP_sha1(), key.baseAddress, Int32(clamping: key.count), bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
    bytes.count, &digest, &count)
  return result != nil && count == 20 ? digest : nil
}

/// HMAC-SHA-256 (RFC 2104): 32 bytes; nil when OpenSSL cannot.
package func keyedDigest(of bytes: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer) -> [UInt8]? {
  OpenSSLLibrary.start()
  ERR_clear_error()
  var digest = [UInt8](repeating: 0, count: 32)
  var count: UInt32 = 0
  let result = HMAC(
    EVP_sha256(), key.baseAddress, Int32(clamping: key.count), bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
    bytes.count, &digest, &count)
  return result != nil && count == 32 ? digest : nil
}
