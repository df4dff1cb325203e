package import System

/// A newer value of a token that an upstream has set, on its way to where tokens are kept.
///
/// Unchecked: nothing in it changes after `init`, and its pages are wiped with it.
package final class TokenOffer: @unchecked Sendable, Hashable {
  private let memory: LockedMemory
  private let count: Int
  /// Milliseconds; nil: the upstream did not say.
  package let lifetime: UInt64?

  /// ENOMEM, or what `LockedMemory` says.
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

  package static func == (one: TokenOffer, other: TokenOffer) -> Bool { one === other }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
