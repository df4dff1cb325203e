internal import COpenSSL

/// An OpenSSL BIO that reads the input of a `ConnectionState`, and writes to its sink immediately.
enum CiphertextBIO {
  /// Returns a BIO that the caller owns. `state` must outlive it.
  static func make(_ state: ConnectionState) -> OpaquePointer? {  // BIO
    guard let method, let bio = BIO_new(method) else { return nil }
    BIO_set_data(bio, Unmanaged.passUnretained(state).toOpaque())
    BIO_set_init(bio, 1)
    return bio
  }

  // Unsafe, because it is OpenSSL's pointer: created once, under Swift's lock for statics, then only read.
  nonisolated(unsafe) private static let method: OpaquePointer? = {  // BIO_METHOD
    let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "bearerd")
    BIO_meth_set_read(method) { bio, target, count in
      guard let bio, let target, count > 0 else { return 0 }
      bearerd_BIO_clear_retry_flags(bio)
      let copied = withState(of: bio) { $0.read(into: target, count: Int(count)) }
      if copied > 0 { return Int32(truncatingIfNeeded: copied) }
      // Never "end of file": only the caller knows whether the transport has ended.
      bearerd_BIO_set_retry_read(bio)
      return -1
    }
    BIO_meth_set_write(method) { bio, source, count in
      guard let bio, let source, count > 0 else { return 0 }
      bearerd_BIO_clear_retry_flags(bio)
      source.withMemoryRebound(to: UInt8.self, capacity: Int(count)) {
        let ciphertext = UnsafeBufferPointer(start: $0, count: Int(count))
        withState(of: bio) { $0.sink.send(ciphertext.span) }
      }
      return count
    }
    BIO_meth_set_ctrl(method) { _, command, _, _ in
      command == BIO_CTRL_FLUSH ? 1 : 0
    }
    return method
  }()

  @inline(__always)
  private static func withState<Result>(of bio: OpaquePointer, _ body: (ConnectionState) -> Result) -> Result {
    Unmanaged<ConnectionState>.fromOpaque(BIO_get_data(bio))._withUnsafeGuaranteedRef(body)
  }
}
