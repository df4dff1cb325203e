internal import System

/// How a token stands, with a copy of its value, on the way to the keyrings of other threads.
///
/// Unchecked: nothing in it changes after `init`, and its pages are wiped with it.
package final class TokenOutput: @unchecked Sendable {
  package let source: TokenSource
  /// Locked, if memory can be; nil: there is no value.
  private let memory: LockedMemory?
  private let count: Int
  let failure: String?
  /// False: nobody uses it any more, or its endpoint has not been asked yet.
  let isKnown: Bool

  init(
    _ source: TokenSource, memory: LockedMemory? = nil, count: Int = 0, failure: String? = nil, isKnown: Bool = true
  ) {
    self.source = source
    self.memory = memory
    self.count = count
    self.failure = failure
    self.isKnown = isKnown
  }

  deinit { memory?.wipe() }

  var bytes: UnsafeRawBufferPointer? {
    memory.map { UnsafeRawBufferPointer(rebasing: $0.bytes[..<count]) }
  }
}
