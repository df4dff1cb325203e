internal import System

struct CallerUnits {
  private let groups = ControlGroups()
  /// The systemd unit of each control group that was looked up. `nil` if none was found.
  private var known: [UInt64: String?] = [:]
  /// Earliest time of the next search, in microseconds.
  private var nextSearchAt: UInt64 = 0

  /// Returns the systemd unit of a control group, or `nil` if it is unknown.
  mutating func unit(of group: UInt64?) -> String? {
    guard let group, let groups else { return nil }
    if let unit = known[group] { return unit }
    let begun = Clock.monotonicMicroseconds
    guard begun >= nextSearchAt else { return nil }
    nextSearchAt = max(nextSearchAt, begun - min(begun, CallerUnits.credit))
    if known.count >= CallerUnits.limit { known.removeAll() }
    let unit = groups.path(of: group).flatMap(SystemdUnit.name)
    known.updateValue(unit, forKey: group)
    nextSearchAt &+= (Clock.monotonicMicroseconds &- begun) &* CallerUnits.timeDivisor
    return unit
  }

  private static let limit = 1_024
  /// Searches may take at most 1/50 of the worker's time on average.
  private static let timeDivisor: UInt64 = 50
  /// Unused search time accumulates over at most this many microseconds.
  private static let credit: UInt64 = 5_000_000
}
