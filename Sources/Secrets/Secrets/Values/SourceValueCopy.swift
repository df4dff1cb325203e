internal import System

extension SourceValue {
  /// A copy of a source's value for another thread, in separate pages, which are locked if possible.
  struct Copy {
    let version: UInt64
    private let pages: LockedMemory
    /// Length in bytes of the user name, which is at the start of `pages`; `nil` if there is none.
    private let userCount: Int?
    private let count: Int
    private let isToken: Bool

    init(of value: borrowing SourceValue, version: UInt64, mustLock: Bool) throws(SystemError) {
      self.version = version
      isToken = value.isToken
      userCount = value.userCount
      let start = value.userCount ?? 0
      count = start + value.secret.count
      pages = try LockedMemory(byteCount: max(1, count), mustLock: mustLock)
      value.withPart(isUser: true) { copy($0, to: 0) }
      value.withPart(isUser: false) { copy($0, to: start) }
    }

    private func copy(_ bytes: UnsafeRawBufferPointer, to start: Int) {
      UnsafeMutableRawBufferPointer(rebasing: pages.bytes[start...]).copyMemory(from: bytes)
    }

    /// Returns the value without its expiry, which only the thread that reads the source uses.
    func value(in arena: SecretArena) throws(SystemError) -> SourceValue {
      let start = userCount ?? 0
      let secret = try part(start..<count, in: arena)
      guard let userCount else { return SourceValue(secret: secret, isToken: isToken) }
      return SourceValue(user: try part(0..<userCount, in: arena), secret: secret, isToken: isToken)
    }

    private func part(_ range: Range<Int>, in arena: SecretArena) throws(SystemError) -> Secret {
      try Secret.copy(of: UnsafeRawBufferPointer(rebasing: pages.bytes[range]), in: arena)
    }

    func wipe() { pages.wipe() }
  }
}
