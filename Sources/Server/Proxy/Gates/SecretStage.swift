internal import Credentials
internal import Providers

/// The sources of a credential's secrets, in the order in which a request waits for them (T44).
enum SecretStage: Int {
  /// Files of the credential that are being read.
  case files
  /// Files with secrets that a token request uses.
  case filesOfToken
  case token
  case command
  case done
}

/// A wait for a value of a credential that is being read or fetched.
struct ValueWait {
  let providers: CredentialProviders
  let keyring: Keyring
  let grant: Int
  /// The first source to wait for. Each source is waited for only once: a file that changes all the time could otherwise
  /// block the request forever.
  let stage: SecretStage

  /// Begins to wait. Calls `onEnd` once, never within this call, with the stage that follows. Returns `nil`, and never
  /// calls `onEnd`, if there is nothing to wait for.
  func begin(onEnd: @escaping (_ next: SecretStage) -> Void) -> SecretWait? {
    let isAvailable = keyring.isAvailable(grant: grant)
    if stage == .files, !isAvailable || keyring.hasFiles(grant: grant) && isReading,
      let wait = providers.secrets?.wait(forGrant: grant, onEnd: { onEnd(.filesOfToken) })
    {
      return wait
    }
    if stage.rawValue <= SecretStage.token.rawValue,
      let wait = providers.tokens?.wait(
        forGrant: grant, hasCheckedFiles: stage == .token, onEnd: { isAsked in onEnd(isAsked ? .command : .token) })
    {
      return wait
    }
    guard stage.rawValue <= SecretStage.command.rawValue, !isAvailable else { return nil }
    return providers.commands?.wait(forGrant: grant, onEnd: { onEnd(.done) })
  }

  private var isReading: Bool { providers.secrets?.isReading(forGrant: grant) == true }
}
