extension Renewal {
  /// The work under way for a token, with the number of the question, what was granted, and when the server was asked.
  enum Work {
    case none
    case asking(UInt64, since: UInt64)
    case storing(UInt64, Granted, since: UInt64)
    /// The grant could not be written, and is tried again.
    case unstored(UInt64, Granted, since: UInt64)
    /// A token had no time left when it was granted: another one is asked for then.
    case pausing(until: UInt64)
  }
}
