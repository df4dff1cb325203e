extension Renewal {
  /// The step in progress: the number of the token request, the grant, and the time at which the server was asked.
  enum Work {
    case none
    case asking(UInt64, since: UInt64)
    case storing(UInt64, Granted, since: UInt64)
    /// The grant could not be written to disk. The write will be tried again.
    case unstored(UInt64, Granted, since: UInt64)
    /// The granted token had already expired. At this time the server is asked again.
    case pausing(until: UInt64)
  }
}
