/// How many requests of one client have begun in a turn of the loop, so that others have theirs (T54).
struct TurnShare {
  /// Whether the next ones wait for a later turn.
  var isUsedUp = false
  private var turn: UInt64 = 0
  private var begun = 0

  /// A few milliseconds of work, if all of them are answered here.
  static let most = 64

  /// One more request begins. Returns how many that makes in this turn.
  mutating func begin(in turn: UInt64) -> Int {
    if self.turn != turn { (self.turn, begun) = (turn, 0) }
    begun += 1
    return begun
  }
}
