/// Counts the requests of one client in a turn of the loop, to limit them (T54).
struct TurnShare {
  /// Whether further requests of the client wait for a later turn.
  var isUsedUp = false
  private var turn: UInt64 = 0
  private var begun = 0

  /// Maximum number of a client's requests per turn.
  static let maximum = 64

  /// Counts a request. Returns the number of requests in this turn so far.
  mutating func begin(in turn: UInt64) -> Int {
    if self.turn != turn { (self.turn, begun) = (turn, 0) }
    begun += 1
    return begun
  }
}
