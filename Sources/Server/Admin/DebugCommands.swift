internal import Credentials
internal import EventLoop
internal import Providers
package import Proxy
internal import Setup
internal import System

#if DEBUG
  extension Clock {
    /// Keeps the processor busy.
    fileprivate static func spin(milliseconds: UInt64) {
      let end = monotonicMicroseconds + milliseconds * 1_000
      while monotonicMicroseconds < end {}
    }
  }
#endif

/// Further requests of the control socket of a build for debugging. A release build has none of them.
package enum DebugCommands {
  package static func of(
    _ worker: Worker, _ workerGroup: WorkerGroup, giveUpSoon: @escaping () -> Void
  ) -> [String: ControlSocket.Command] {
    #if DEBUG
      [
        "trap": { [worker] answer in
          worker.providers.generation.keyring.trap(withSecretOfGrant: 0)
          answer(.success([]))
        },
        "stall": { answer in
          Clock.spin(milliseconds: 150)
          answer(.success([]))
        },
        "stall second": { [workerGroup] answer in
          workerGroup.links.first?.post { _ in Clock.spin(milliseconds: 150) }
          answer(.success([]))
        },
        // The thread never comes back.
        "hang second": { [workerGroup] answer in
          workerGroup.links.first?.post { _ in ThreadSignal().wait(milliseconds: nil) }
          answer(.success([]))
        },
        // Nor a minute.
        "look again": { [worker, workerGroup] answer in
          worker.providers.secrets?.checkWithoutPause()
          workerGroup.tell { $0.providers.secrets?.checkWithoutPause() }
          answer(.success([]))
        },
        // No test waits half a minute.
        "give up soon": { answer in
          giveUpSoon()
          answer(.success([]))
        },
      ]
    #else
      [:]
    #endif
  }
}
