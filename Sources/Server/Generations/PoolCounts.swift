package import StatusModel

extension DaemonStatus.Pool {
  /// Adds up the pools of several workers.
  package static func sorted(_ all: [DaemonStatus.Pool]) -> [DaemonStatus.Pool] {
    Dictionary(grouping: all) { [$0.upstream, $0.credential] }.values.map { same in
      DaemonStatus.Pool(
        upstream: same[0].upstream, credential: same[0].credential, idle: same.reduce(0) { $0 + $1.idle },
        active: same.reduce(0) { $0 + $1.active })
    }.sorted { ($0.upstream, $0.credential) < ($1.upstream, $1.credential) }
  }
}
