package import System

/// A new token that an upstream has set as a cookie and that is not stored yet.
///
/// `@unchecked` is safe here: `init` writes the memory before any other thread can know it, and all later uses only read
/// it. The memory is freed with the last reference.
package final class TokenOffer: @unchecked Sendable {
  private let memory: LockedMemory
  private let count: Int
  /// Lifetime of the token in milliseconds; `nil` if the upstream did not say.
  package let lifetime: UInt64?

  package init(_ value: Span<UInt8>, lifetime: UInt64?, mustLock: Bool) throws(SystemError) {
    memory = try LockedMemory(byteCount: max(1, value.count), mustLock: mustLock)
    count = value.count
    self.lifetime = lifetime
    value.withUnsafeBytes { memory.bytes.copyMemory(from: $0) }
  }

  package func secret(in arena: SecretArena) throws(SecretProblem) -> Secret {
    try secretCopy(
      UnsafeRawBufferPointer(rebasing: memory.bytes[..<count]), name: "the cookie that the upstream set", in: arena)
  }
}
