internal import Credentials
package import Gateway
internal import Policy
package import Secrets
internal import Setup

/// The output of commands, as one worker has it: its keyrings, and the requests that wait for a first value. The programs
/// are run in one place for all of them.
package final class CommandWaits {
  private unowned let providers: CredentialProviders
  private let secrets: CommandValues
  private var waits = WaitQueue<Wait>()
  private var isClosed = false
  /// Called with the verdicts of upstreams on values; nil until programs are run.
  package var onVerdict: ((HelperValue, _ isAccepted: Bool) -> Void)?
  /// The last answers that were accepted: told once.
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

  /// Calls `onEnd` once, never from within this call: the first run of each command that this grant of the current generation needs has
  /// ended, well or not, or never will. nil: there is nothing to wait for.
  package func wait(forGrant index: Int, onEnd: @escaping () -> Void) -> SecretWait? {
    guard !isClosed, providers.generation.keyring.isAwaited(grant: index) else { return nil }
    let wait = Wait(grant: index, generation: providers.generation, onEnd: onEnd)
    waits.append(wait)
    return wait
  }

  /// The next request goes out with what `change` has brought, or not at all.
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
  }

  /// An upstream has accepted or rejected what a request went out with.
  package func answered(_ verdict: CredentialVerdict, to values: [HelperValue]) {
    for value in values {
      switch verdict {
      case .forbidden: break
      case .rejected: onVerdict?(value, false)
      case .accepted:
        guard value.command.format.hearsSuccess, accepted[value.command] != value.number else { break }
        accepted[value.command] = value.number
        onVerdict?(value, true)
      }
    }
  }

  /// Takes over what another thread has of a command's output.
  package func adopt(_ output: SourceOutput<SecretCommand>) {
    change(output.source) { $0.adopt(output) }
    endWaits()
  }

  /// Ends the waits that have nothing to wait for any more.
  func endWaits() {
    for wait in waits.take(where: { isClosed || !$0.generation.keyring.isAwaited(grant: $0.grant) }) { wait.end() }
  }

  /// Nothing comes any more.
  package func close() {
    isClosed = true
    endWaits()
  }
}
