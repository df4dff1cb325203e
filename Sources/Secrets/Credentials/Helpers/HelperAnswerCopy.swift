internal import System

extension HelperAnswer {
  /// An answer in pages of its own, locked if memory can be, on its way to another thread.
  struct Copy {
    /// Counts up each time that a command's answer is another one.
    let number: UInt64
    private let pages: LockedMemory
    /// The user's name stands first.
    private let userCount: Int?
    private let count: Int
    private let isToken: Bool

    init(of answer: borrowing HelperAnswer, number: UInt64, mustLock: Bool) throws(SystemError) {
      self.number = number
      isToken = answer.isToken
      userCount = answer.userCount
      let start = answer.userCount ?? 0
      count = start + answer.secret.count
      pages = try LockedMemory(byteCount: max(1, count), mustLock: mustLock)
      answer.withPart(isUser: true) { copy($0, to: 0) }
      answer.withPart(isUser: false) { copy($0, to: start) }
    }

    private func copy(_ bytes: UnsafeRawBufferPointer, to start: Int) {
      UnsafeMutableRawBufferPointer(rebasing: pages.bytes[start...]).copyMemory(from: bytes)
    }

    /// Its expiry is for whoever runs the command.
    func answer(in arena: SecretArena) throws(SystemError) -> HelperAnswer {
      let start = userCount ?? 0
      let secret = try part(start..<count, in: arena)
      guard let userCount else { return HelperAnswer(secret: secret, isToken: isToken) }
      return HelperAnswer(user: try part(0..<userCount, in: arena), secret: secret, isToken: isToken)
    }

    private func part(_ range: Range<Int>, in arena: SecretArena) throws(SystemError) -> Secret {
      var secret = try Secret(capacity: range.count, in: arena)
      try secret.append(UnsafeRawBufferPointer(rebasing: pages.bytes[range]))
      return secret
    }

    func wipe() { pages.wipe() }
  }
}
