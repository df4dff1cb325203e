extension Renewal {
  /// The step of a renewal in progress, with the number and the time (`since`) of its token request.
  enum Work {
    case none
    case requesting(UInt64, since: UInt64)
    case storing(UInt64, Granted, since: UInt64)
    /// The granted token could not be written to disk, which will be tried again.
    case unstored(UInt64, Granted, since: UInt64)
    /// The granted token had already expired, and the next token request follows at this time.
    case pausing(until: UInt64)
  }
}
