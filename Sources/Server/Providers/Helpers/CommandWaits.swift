internal import Credentials
package import Gateway
internal import Policy
package import Secrets
package import Settings
internal import Generations

/// Applies the output of commands, which are programs that print secrets, to the keyrings of one worker. Resumes the
/// worker's requests that wait for the first run of a command.
package final class CommandWaits {
  private unowned let providers: CredentialProviders
  private let secrets: CommandValues
  private var waits = WaitQueue<Wait>()
  private var isClosed = false
  /// Called when an upstream accepts or rejects a command's value.
  package var onVerdict: ((HelperValue, _ isAccepted: Bool) -> Void)?
  /// The version of each command's last accepted value, so that `onVerdict` is called only once for it.
  private var accepted: [SecretCommand: UInt64] = [:]

  private final class Wait: SecretWait {
    let grant: Int
    let generation: Generation

    init(grant: Int, generation: Generation, onEnd: @escaping () -> Void) {
      self.grant = grant
      self.generation = generation
      super.init(onEnd: onEnd)
    }
  }

  init(providers: CredentialProviders) {
    self.providers = providers
    secrets = providers.generation.keyring.commandOutputs
  }

  /// Calls `onEnd` once, never within this call, when the first runs of the grant's commands have ended or the daemon
  /// stops. Returns `nil` if there is nothing to wait for.
  package func wait(forGrant index: Int, onEnd: @escaping () -> Void) -> SecretWait? {
    guard !isClosed, providers.generation.keyring.isCommandPending(grant: index) else { return nil }
    let wait = Wait(grant: index, generation: providers.generation, onEnd: onEnd)
    waits.append(wait)
    return wait
  }

  /// Applies `change` to a command's value, and updates the keyrings.
  func change(_ command: SecretCommand, _ change: (CommandValues) -> Void) {
    let generation = providers.generation
    let keyring = generation.keyring
    let before = keyring.users(of: command).map { keyring.status(ofGrant: $0) }
    change(secrets)
    providers.prepared?.keyring.reload(command: command)
    for (index, before) in zip(keyring.reload(command: command), before)
    where keyring.status(ofGrant: index) != before {
      providers.log.credential(index, of: generation)
    }
    providers.checkAccounts()
  }

  /// Reports an upstream's verdict on the values that a request contained.
  package func report(_ verdict: CredentialVerdict, for values: [HelperValue]) {
    for value in values {
      switch verdict {
      case .forbidden: break
      case .rejected: onVerdict?(value, false)
      case .accepted:
        guard value.command.format.isNotifiedOfSuccess, accepted[value.command] != value.version else { break }
        accepted[value.command] = value.version
        onVerdict?(value, true)
      }
    }
  }

  package func adopt(_ output: SourceState<SecretCommand>) {
    change(output.source) { $0.adopt(output) }
    endWaits()
  }

  func endWaits() {
    for wait in waits.drain(where: { isClosed || !$0.generation.keyring.isCommandPending(grant: $0.grant) }) {
      wait.end()
    }
  }

  package func close() {
    isClosed = true
    endWaits()
  }
}
