internal import Credentials
internal import Settings

/// Checks whether the secret files of a token endpoint have changed, before a request is refused for lack of a token
/// (T44).
final class TokenFileChecks {
  private unowned let providers: CredentialProviders
  private var checks: [TokenSource: Check] = [:]

  /// The requests that wait for a check of the files. Those in `next` need another check after this one.
  private struct Check {
    var waits = WaitQueue<SecretWait>()
    var next = WaitQueue<SecretWait>()
  }

  init(providers: CredentialProviders) { self.providers = providers }

  /// Waits until the secret files of a token endpoint have been checked. Calls `onEnd` once, never within this call.
  /// Returns `nil` if there is nothing to wait for.
  func wait(for source: TokenSource, onEnd: @escaping () -> Void) -> SecretWait? {
    guard let link = providers.link else { return providers.secrets?.wait(forFiles: source.files, onEnd: onEnd) }
    let wait = SecretWait(onEnd: onEnd)
    if checks[source] == nil {
      checks[source, default: Check()].waits.append(wait)
      requestCheck(source, by: link)
    } else {
      checks[source]?.next.append(wait)
    }
    return wait
  }

  private func requestCheck(_ source: TokenSource, by link: any ProvidersLink) {
    link.postToFirstProviders { first in
      let reply = { link.postToProviders { $0.tokenFileChecks.completed(source) } }
      // The result is posted before the reply.
      if first.secrets?.wait(forFiles: source.files, onEnd: reply) == nil { reply() }
    }
  }

  func completed(_ source: TokenSource) {
    guard var check = checks.removeValue(forKey: source) else { return }
    if !check.next.isEmpty, let link = providers.link {
      checks[source] = Check(waits: check.next)
      requestCheck(source, by: link)
    }
    for wait in check.waits.drain() { wait.end() }
  }

  func close() {
    let closed = checks
    checks = [:]
    for var check in closed.values {
      check.waits.append(check.next)
      for wait in check.waits.drain() { wait.end() }
    }
  }
}
