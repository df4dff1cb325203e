internal import Credentials
internal import Providers
package import Proxy
internal import Generations
internal import System

#if DEBUG
  extension Clock {
    fileprivate static func spin(milliseconds: UInt64) {
      let end = monotonicMicroseconds + milliseconds * 1_000
      while monotonicMicroseconds < end {}
    }
  }
#endif

/// Additional commands of the control socket in debug builds, for tests.
package enum DebugCommands {
  package static func of(
    _ worker: Worker, _ workerGroup: WorkerGroup, giveUpSoon: @escaping () -> Void
  ) -> [String: ControlSocket.Command] {
    #if DEBUG
      [
        "trap": { [worker] completion in
          worker.providers.generation.keyring.trap(withSecretOfGrant: 0)
          completion(.success([]))
        },
        "stall": { completion in
          Clock.spin(milliseconds: 150)
          completion(.success([]))
        },
        "stall second": { [workerGroup] completion in
          workerGroup.links.first?.post { _ in Clock.spin(milliseconds: 150) }
          completion(.success([]))
        },
        // Blocks the thread forever.
        "hang second": { [workerGroup] completion in
          workerGroup.links.first?.post { _ in ThreadSignal().wait(milliseconds: nil) }
          completion(.success([]))
        },
        // Tests cannot wait a minute for the next check.
        "look again": { [worker, workerGroup] completion in
          worker.providers.secrets?.checkWithoutPause()
          workerGroup.post { $0.providers.secrets?.checkWithoutPause() }
          completion(.success([]))
        },
        // Tests cannot wait half a minute for the timeout.
        "give up soon": { completion in
          giveUpSoon()
          completion(.success([]))
        },
      ]
    #else
      [:]
    #endif
  }
}
