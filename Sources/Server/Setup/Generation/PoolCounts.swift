extension Generation {
  /// How many sessions there are, by origin and credential.
  package struct Pool: Sendable {
    package let upstream: String
    /// Its name; empty: none is added.
    package let credential: String
    package var idle: Int
    package var active: Int

    /// Each origin and credential once. In no order that means anything, but always in the same one.
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
