internal import Configuration
internal import Policy
internal import System
internal import TLS

/// The system's certificates: read when first asked for, and again after a reload.
final class SystemTrust {
  private var store: TrustStore?
  private var reading: BackgroundThread?

  func get() throws(TLSError) -> TrustStore {
    if let store { return store }
    // Its result is what is asked for here.
    finish()
    let loaded = try TrustStore.system()
    store = loaded
    return loaded
  }

  func forget() { store = nil }

  /// Reading the bundle takes 50 ms, in which the first request would keep all others waiting (T55): it is read beside the
  /// loop as soon as it is known that it will be wanted.
  func prepare(for settings: Settings) {
    finish()
    let isWanted = settings.rules.services.contains { $0.upstream.origin.scheme == .https && $0.trust.caFile == nil }
    if isWanted { reading = BackgroundThread { _ = try? TrustStore.system() } }
  }

  func finish() {
    reading?.join()
    reading = nil
  }
}
