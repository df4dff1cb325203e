internal import Credentials

internal import Secrets

/// Requests that would be refused for want of a token while its endpoint's files may have changed just now. Endpoints are
/// asked on the first worker alone, so that the others ask there what these files hold (T44).
final class TokenFileChecks {
  private unowned let providers: CredentialProviders
  private var looks: [TokenSource: Look] = [:]

  /// The waits of `next` came after the question was sent: its answer may be of before.
  private struct Look {
    var waits = WaitQueue<SecretWait>()
    var next = WaitQueue<SecretWait>()
  }

  init(providers: CredentialProviders) { self.providers = providers }

  /// Calls `onEnd` once, never from within this call. nil: there is nothing to wait for.
  func wait(for source: TokenSource, onEnd: @escaping () -> Void) -> SecretWait? {
    guard let link = providers.link else { return providers.secrets?.wait(forFiles: source.files, onEnd: onEnd) }
    let wait = SecretWait(onEnd: onEnd)
    if looks[source] == nil {
      looks[source, default: Look()].waits.append(wait)
      ask(source, by: link)
    } else {
      looks[source]?.next.append(wait)
    }
    return wait
  }

  private func ask(_ source: TokenSource, by link: any ProvidersLink) {
    link.postToFirstProviders { first in
      let reply = { link.postToProviders { $0.tokens?.fileChecks.answered(source) } }
      // The result is posted ahead of the reply.
      if first.secrets?.wait(forFiles: source.files, onEnd: reply) == nil { reply() }
    }
  }

  func answered(_ source: TokenSource) {
    guard var look = looks.removeValue(forKey: source) else { return }
    if !look.next.isEmpty, let link = providers.link {
      looks[source] = Look(waits: look.next)
      ask(source, by: link)
    }
    for wait in look.waits.takeAll() { wait.end() }
  }

  /// No answer comes any more.
  func close() {
    let closed = looks
    looks = [:]
    for var look in closed.values {
      look.waits.append(look.next)
      for wait in look.waits.takeAll() { wait.end() }
    }
  }
}
