internal import TLS

/// The system's certificates: read when first asked for, and again after a reload.
final class SystemTrust {
  private var store: TrustStore?

  func get() throws(TLSError) -> TrustStore {
    if let store { return store }
    let loaded = try TrustStore.system()
    store = loaded
    return loaded
  }

  func forget() { store = nil }
}
