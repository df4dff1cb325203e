internal import System

/// In which unit of systemd a caller's socket was made. For the log alone: nothing is decided by it (T6).
struct CallerUnits {
  private let groups = ControlGroups()
  /// Units of control groups that were looked for; nil: no unit's, or not found.
  private var known: [UInt64: String?] = [:]
  private var searchAgain: UInt64 = 0

  /// An unknown group is looked for at once, so that the first line of a caller has it, if the last search is long enough ago:
  /// callers that make one control group after the other have a small part of the loop's time.
  mutating func unit(of group: UInt64?) -> String? {
    guard let group, let groups else { return nil }
    if let unit = known[group] { return unit }
    let begun = Clock.monotonicMicroseconds
    guard begun >= searchAgain else { return nil }
    searchAgain = max(searchAgain, begun - min(begun, CallerUnits.credit))
    if known.count >= CallerUnits.limit { known.removeAll() }
    let unit = groups.path(of: group).flatMap(SystemdUnit.name)
    known.updateValue(unit, forKey: group)
    searchAgain &+= (Clock.monotonicMicroseconds &- begun) &* CallerUnits.pause
    return unit
  }

  private static let limit = 1_024
  /// Searches have one part in so many of the time, and have it in advance for so many microseconds.
  private static let pause: UInt64 = 50
  private static let credit: UInt64 = 5_000_000
}
