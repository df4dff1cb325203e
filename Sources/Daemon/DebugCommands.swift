internal import Credentials

/// What the control socket of a build for debugging can do besides. A release build has none of it.
enum DebugCommands {
  static func of(_ worker: Worker) -> [String: () -> Result<[UInt8], StartError>] {
    #if DEBUG
      [
        "trap": { [worker] in
          worker.generation.keyring.trap(withSecretOfGrant: 0)
          return .success([])
        }
      ]
    #else
      [:]
    #endif
  }
}
