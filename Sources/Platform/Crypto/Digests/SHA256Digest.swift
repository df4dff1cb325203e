internal import COpenSSL

/// Replaces `digest` by the SHA-256 of `bytes` (FIPS 180-4), 32 bytes. Returns `false` if OpenSSL fails.
package func sha256(of bytes: Span<UInt8>, into digest: inout [UInt8]) -> Bool {
  OpenSSLLibrary.start()
  ERR_clear_error()
  if digest.count != 32 { digest = [UInt8](repeating: 0, count: 32) }
  return bytes.withUnsafeBufferPointer { bytes in
    digest.withUnsafeMutableBufferPointer { SHA256(bytes.baseAddress, bytes.count, $0.baseAddress) != nil }
  }
}
