extension Renewal {
  /// The step of a renewal in progress. The number identifies the token request, and `since` is its time.
  enum Work {
    case none
    case requesting(UInt64, since: UInt64)
    case storing(UInt64, Granted, since: UInt64)
    /// The granted token could not be written to disk. The write will be tried again.
    case unstored(UInt64, Granted, since: UInt64)
    /// The granted token had already expired. The next token request follows at this time.
    case pausing(until: UInt64)
  }
}
