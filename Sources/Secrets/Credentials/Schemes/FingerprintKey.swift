internal import Crypto
import Primitives
internal import System

/// A key to tell one secret from another without showing anything of either: HMAC-SHA-256 under a key that this process has
/// drawn and keeps to itself. Without it no guess can be tried out, and it ends with the process.
///
/// Unchecked: locked memory is not Sendable, and this is written in `init` and then only read.
final class FingerprintKey: @unchecked Sendable {
  /// nil: there was no memory for it, and there are no fingerprints.
  private let memory: LockedMemory?

  static let ofProcess = FingerprintKey()

  private init() {
    memory = try? LockedMemory(byteCount: 32)
    guard let memory else { return }
    var random = SystemRandomNumberGenerator()
    for index in memory.bytes.indices { memory.bytes[index] = UInt8.random(in: .min ... .max, using: &random) }
  }

  /// The first eight hexadecimal digits of it.
  func fingerprint(of bytes: UnsafeRawBufferPointer) -> String? {
    guard let memory, let digest = keyedDigest(of: bytes, key: UnsafeRawBufferPointer(memory.bytes)) else { return nil }
    return ASCII.hexadecimal(digest.prefix(4))
  }
}
