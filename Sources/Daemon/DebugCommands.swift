internal import Credentials

/// What the control socket of a build for debugging can do besides. A release build has none of it.
enum DebugCommands {
  static func of(_ worker: Worker, _ crew: Crew, _ reloads: Reloads) -> [String: ControlSocket.Command] {
    #if DEBUG
      [
        "trap": { [worker] answer in
          worker.generation.keyring.trap(withSecretOfGrant: 0)
          answer(.success([]))
        },
        // Nor a minute.
        "look again": { [worker, crew] answer in
          worker.secrets?.pause = 0
          crew.tell { $0.secrets?.pause = 0 }
          answer(.success([]))
        },
        // No test waits half a minute.
        "give up soon": { [reloads] answer in
          reloads.patience = 100
          answer(.success([]))
        },
      ]
    #else
      [:]
    #endif
  }
}
