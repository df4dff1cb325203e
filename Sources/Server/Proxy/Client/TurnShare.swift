/// Counts the requests of one client in a turn of the loop, so that one client cannot use the whole turn (T54).
struct TurnShare {
  /// Whether further requests of the client wait for a later turn.
  var isUsedUp = false
  private var turn: UInt64 = 0
  private var begun = 0

  /// Maximum number of a client's requests per turn. Low enough that refusing all of them takes a few milliseconds.
  static let maximum = 64

  /// Counts a request. Returns the client's number of requests in this turn so far.
  mutating func begin(in turn: UInt64) -> Int {
    if self.turn != turn { (self.turn, begun) = (turn, 0) }
    begun += 1
    return begun
  }
}
