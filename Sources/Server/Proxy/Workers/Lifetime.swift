package import StatusModel
internal import System

/// The start time of the daemon, and the result of its last reload. Times are seconds since 1970.
package struct Lifetime {
  package let startedAt: Int
  /// When the current configuration came into use.
  package private(set) var loadedAt: Int
  package private(set) var lastReload: DaemonStatus.Reload?

  init() {
    startedAt = Int(Clock.now.seconds)
    loadedAt = startedAt
  }

  package mutating func reloaded(problem: String?) {
    let now = Int(Clock.now.seconds)
    if problem == nil { loadedAt = now }
    lastReload = DaemonStatus.Reload(at: now, problem: problem)
  }
}
