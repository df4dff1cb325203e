internal import Policy
internal import Secrets

extension Keyring {
  package func keepCookies(in jars: CookieJars) { self.jars = jars }

  /// Keeps a credential's cookies only while its value stays the same. Wipes cookies of an earlier value immediately,
  /// and after each later change.
  package func keepCookies(of credential: String) {
    if let index = plan.indices[credential] { slots[index].jars = jars }
  }
}

extension CredentialSlot {
  /// Returns the login that the credential's cookies belong to; `nil` if the credential has no value. Renewed OAuth
  /// tokens belong to the same login. Any other new value is a new login, because it may be another person's.
  /// - Parameter number: the number of the OAuth login from which the tokens come.
  func cookieOwner(_ number: UInt64) -> CookieOwner? {
    guard rendered.isThere else { return nil }
    if let token = renewedToken { return .token(token, number) }
    return fingerprint.map { .value($0) }
  }

  /// Wipes the cookies of an earlier value. Does nothing for OAuth tokens, whose cookies belong to a login
  /// (`CookieOwner.token`).
  func keepCookies() {
    guard let jars, renewedToken == nil else { return }
    if let holder = cookieOwner(0) { jars.keep(entry.grant.name, of: holder) } else { jars.forget(entry.grant.name) }
  }

  private var renewedToken: TokenSource? {
    guard entry.grant.parts.isEmpty, traits.registry == nil, let token = entry.scheme.token, token.form == nil else {
      return nil
    }
    return token
  }
}
