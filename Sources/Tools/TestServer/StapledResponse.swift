internal import COpenSSL

/// The OCSP response that a server staples (RFC 6066 section 8).
final class StapledResponse {
  private let bytes: [UInt8]

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Staples this response, which must outlive the connections of `context`.
  func install(in context: OpaquePointer) {  // SSL_CTX
    _ = bearerd_SSL_CTX_set_status_callback(
      context,
      { ssl, argument in
        guard let ssl, let argument else { return SSL_TLSEXT_ERR_NOACK }
        let response = Unmanaged<StapledResponse>.fromOpaque(argument).takeUnretainedValue()
        let count = response.bytes.count
        // OpenSSL frees the copy.
        guard let copy = CRYPTO_malloc(count, #fileID, #line) else { return SSL_TLSEXT_ERR_NOACK }
        response.bytes.withUnsafeBytes { bytes in
          if let start = bytes.baseAddress { copy.copyMemory(from: start, byteCount: count) }
        }
        SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_STATUS_REQ_OCSP_RESP, count, copy)
        return SSL_TLSEXT_ERR_OK
      }, Unmanaged.passUnretained(self).toOpaque())
  }
}
