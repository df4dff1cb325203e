internal import Setup
internal import Transport

// Room for connections: made where there is none, and told of where there is some again.
extension Worker {
  package var sessionCount: Int { sessions.count }

  /// No descriptor is left: those that are not in use just now are the first to go.
  func makeRoom() {
    closeIdle()
    if let link { link.requestCapacity() } else { workerGroup?.tell { $0.closeIdle() } }
  }

  func closeIdle() { for pool in generation.upstreamPools { pool.closeIdle() } }

  func connectionEnded() {
    if let link { link.connectionEnded() } else { acceptor?.hasRoom() }
  }
}
