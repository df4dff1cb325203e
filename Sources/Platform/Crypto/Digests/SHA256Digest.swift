internal import COpenSSL

/// SHA-256 (FIPS 180-4): 32 bytes that take the place of what `digest` holds. False when OpenSSL cannot.
package func sha256(of bytes: Span<UInt8>, into digest: inout [UInt8]) -> Bool {
  OpenSSLLibrary.start()
  ERR_clear_error()
  if digest.count != 32 { digest = [UInt8](repeating: 0, count: 32) }
  return bytes.withUnsafeBufferPointer { bytes in
    digest.withUnsafeMutableBufferPointer { SHA256(bytes.baseAddress, bytes.count, $0.baseAddress) != nil }
  }
}
