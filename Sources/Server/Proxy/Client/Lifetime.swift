internal import System

/// When the daemon began, and how its last reload went. Seconds since 1970.
struct Lifetime {
  struct Reload {
    let time: Int64
    /// One line; nil: it went well.
    let problem: String?
  }

  let startedAt: Int64
  /// When the current configuration came into use.
  private(set) var loadedAt: Int64
  private(set) var lastReload: Reload?

  init() {
    startedAt = Clock.now.seconds
    loadedAt = startedAt
  }

  mutating func reloaded(problem: String?) {
    let now = Clock.now.seconds
    if problem == nil { loadedAt = now }
    lastReload = Reload(time: now, problem: problem)
  }
}
