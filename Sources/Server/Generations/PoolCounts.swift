package import StatusModel

extension DaemonStatus.Pool {
  /// Adds up the pools of several workers.
  package static func sorted(_ all: [DaemonStatus.Pool]) -> [DaemonStatus.Pool] {
    Dictionary(grouping: all) { [$0.upstream, $0.credential, $0.httpVersion] }.values.map { same in
      DaemonStatus.Pool(
        upstream: same[0].upstream, credential: same[0].credential, httpVersion: same[0].httpVersion,
        idle: same.reduce(0) { $0 + $1.idle }, active: same.reduce(0) { $0 + $1.active },
        streams: same[0].streams == nil ? nil : same.reduce(0) { $0 + ($1.streams ?? 0) })
    }.sorted { ($0.upstream, $0.credential, $0.httpVersion) < ($1.upstream, $1.credential, $1.httpVersion) }
  }
}
