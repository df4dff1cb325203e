internal import Policy
internal import Secrets

extension Keyring {
  /// This keyring is in use from now on: cookies of its credentials are kept there.
  package func keepCookies(in jars: CookieJars) { self.jars = jars }

  /// Wipes what a jar has of another value of this credential, now and whenever the value changes.
  package func keepCookies(of credential: String) {
    if let index = plan.indices[credential] { slots[index].jars = jars }
  }
}

/// Whose cookies those of a credential are.
extension CredentialSlot {
  /// nil: there is no value. One that OAuth renews is the same holder's; any other value may be another person's, and so may be
  /// the next session that a login begins.
  /// - Parameter number: of who holds the tokens.
  func holder(_ number: UInt64) -> CookieHolder? {
    guard rendered.isThere else { return nil }
    if let token = renewedToken { return .token(token, number) }
    return fingerprint.map { .value($0) }
  }

  /// Cookies of another value are wiped. Those of tokens are with the number of their holder.
  func keepCookies() {
    guard let jars, renewedToken == nil else { return }
    if let holder = holder(0) { jars.keep(entry.grant.name, of: holder) } else { jars.forget(entry.grant.name) }
  }

  private var renewedToken: TokenSource? {
    guard entry.grant.parts.isEmpty, traits.registry == nil, let token = entry.scheme.token, token.form == nil else {
      return nil
    }
    return token
  }
}
