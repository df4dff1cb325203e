internal import System

/// The start time of the daemon, and the result of its last reload. Times are seconds since 1970.
package struct Lifetime {
  package struct Reload {
    package let time: Int64
    /// A one-line error message. `nil` after a successful reload.
    package let problem: String?
  }

  package let startedAt: Int64
  /// When the current configuration came into use.
  package private(set) var loadedAt: Int64
  package private(set) var lastReload: Reload?

  init() {
    startedAt = Clock.now.seconds
    loadedAt = startedAt
  }

  package mutating func reloaded(problem: String?) {
    let now = Clock.now.seconds
    if problem == nil { loadedAt = now }
    lastReload = Reload(time: now, problem: problem)
  }
}
