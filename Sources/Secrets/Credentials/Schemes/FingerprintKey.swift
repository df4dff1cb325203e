internal import Crypto
import Primitives
internal import System

/// Computes fingerprints that distinguish secrets without revealing them: HMAC-SHA-256 with a random key.
///
/// `@unchecked`: locked memory is not Sendable, but is written only in `init`.
final class FingerprintKey: @unchecked Sendable {
  /// The random key; `nil` if there was no memory for it.
  private let memory: LockedMemory?

  static let shared = FingerprintKey()

  private init() {
    memory = try? LockedMemory(byteCount: 32)
    guard let memory else { return }
    var random = SystemRandomNumberGenerator()
    for index in memory.bytes.indices { memory.bytes[index] = UInt8.random(in: .min ... .max, using: &random) }
  }

  /// Returns the first eight hexadecimal digits of the HMAC; `nil` if the HMAC cannot be computed.
  func fingerprint(of bytes: UnsafeRawBufferPointer) -> String? {
    guard let memory, let digest = keyedDigest(of: bytes, key: UnsafeRawBufferPointer(memory.bytes)) else { return nil }
    return ASCII.hexadecimal(digest.prefix(4))
  }
}
