extension Generation {
  /// The numbers of sessions to one origin with one credential.
  package struct Pool: Sendable {
    package let upstream: String
    /// The name of the credential. Empty for sessions without a credential.
    package let credential: String
    package var idle: Int
    package var active: Int

    package static func sorted(_ all: [Pool]) -> [Pool] {
      var pools: [Pool] = []
      for pool in all {
        if let index = pools.firstIndex(where: { $0.upstream == pool.upstream && $0.credential == pool.credential }) {
          pools[index].idle += pool.idle
          pools[index].active += pool.active
        } else {
          pools.append(pool)
        }
      }
      return pools.sorted { ($0.upstream, $0.credential) < ($1.upstream, $1.credential) }
    }
  }
}
