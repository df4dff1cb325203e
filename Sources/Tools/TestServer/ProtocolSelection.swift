internal import COpenSSL

/// The application protocol that a server selects with ALPN (RFC 7301).
final class ProtocolSelection {
  /// The supported protocols, best first.
  private let names: [UnsafeBufferPointer<UInt8>]
  /// Whether the server selects the first protocol also if the client has not offered it.
  private let isFixed: Bool

  /// Returns `nil` if the server selects no protocol.
  init?(_ options: UpstreamServer.Options) {
    isFixed = options.selectedProtocol != nil
    names = (options.selectedProtocol.map { [$0] } ?? options.protocols).map { name in
      let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: name.utf8.count)
      _ = copy.initialize(from: name.utf8)
      return UnsafeBufferPointer(copy)
    }
    if names.isEmpty { return nil }
  }

  deinit { for name in names { name.deallocate() } }

  /// Selects a protocol of this value, which must outlive the connections of `context`.
  func install(in context: OpaquePointer) {  // SSL_CTX
    SSL_CTX_set_alpn_select_cb(
      context,
      { _, output, count, offered, offeredCount, argument in
        guard let argument else { return SSL_TLSEXT_ERR_NOACK }
        let selection = Unmanaged<ProtocolSelection>.fromOpaque(argument).takeUnretainedValue()
        let offered = UnsafeBufferPointer(start: offered, count: Int(offeredCount))
        guard let name = selection.name(for: offered) else { return SSL_TLSEXT_ERR_NOACK }
        output?.pointee = name.baseAddress
        count?.pointee = UInt8(name.count)
        return SSL_TLSEXT_ERR_OK
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  /// - Parameter offered: the names of the client's protocols, each after a byte with its length.
  private func name(for offered: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8>? {
    if isFixed { return names.first }
    return names.first { name in
      var index = 0
      while index < offered.count {
        let end = min(index + 1 + Int(offered[index]), offered.count)
        if offered[(index + 1)..<end].elementsEqual(name) { return true }
        index = end
      }
      return false
    }
  }
}
