extension Renewal {
  /// The token in use: its times, and nothing of it.
  struct Token {
    let generation: UInt64
    /// nil: it does not expire.
    let renewAt: UInt64?
    let usableUntil: UInt64?
    /// It lives long enough for its end to be no reason to ask less often.
    let isLasting: Bool

    func isUsable(at now: UInt64) -> Bool { usableUntil.map { now < $0 } ?? true }
    func isDue(at now: UInt64) -> Bool { renewAt.map { now >= $0 } ?? false }
  }
}
