internal import COpenSSL

/// The application protocol that a server selects with ALPN (RFC 7301), whatever the client offers.
final class ProtocolSelection {
  private let name: UnsafeMutableBufferPointer<UInt8>

  init(_ name: String) {
    self.name = .allocate(capacity: name.utf8.count)
    _ = self.name.initialize(from: name.utf8)
  }

  deinit { name.deallocate() }

  /// Selects this protocol, which must outlive the connections of `context`.
  func install(in context: OpaquePointer) {  // SSL_CTX
    SSL_CTX_set_alpn_select_cb(
      context,
      { _, output, count, _, _, argument in
        guard let argument else { return SSL_TLSEXT_ERR_NOACK }
        let name = Unmanaged<ProtocolSelection>.fromOpaque(argument).takeUnretainedValue().name
        output?.pointee = UnsafePointer(name.baseAddress)
        count?.pointee = UInt8(name.count)
        return SSL_TLSEXT_ERR_OK
      }, Unmanaged.passUnretained(self).toOpaque())
  }
}
