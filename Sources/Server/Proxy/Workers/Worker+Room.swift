internal import Generations
internal import Transport

extension Worker {
  package var connectionCount: Int { connections.count }

  /// Closes idle upstream connections in all workers, to free file descriptors.
  func freeDescriptors() {
    closeIdle()
    if let link { link.requestCapacity() } else { workerGroup?.post { $0.closeIdle() } }
  }

  func closeIdle() { for pool in generation.upstreamPools { pool.closeIdle() } }

  func connectionEnded() {
    if let link { link.connectionEnded() } else { acceptor?.connectionEnded() }
  }
}
