internal import Policy
internal import Settings

extension Keyring {
  package func keepCookies(in jars: CookieJars) { self.jars = jars }

  /// Wipes a credential's cookies now if they belong to an earlier value, and after each later change of its value.
  package func keepCookies(of credential: String) {
    if let index = plan.indices[credential] { slots[index].jars = jars }
  }
}

extension CredentialSlot {
  /// Returns the login that the credential's cookies belong to; `nil` if the credential has no value.
  /// - Parameter number: the number of the OAuth login from which the tokens come.
  func cookieOwner(_ number: UInt64) -> CookieOwner? {
    // Renewed OAuth tokens belong to the same login. Any other new value may be another person's.
    guard rendered.isThere else { return nil }
    if let token = renewedToken { return .token(token, number) }
    return fingerprint.map { .value($0) }
  }

  /// Wipes the cookies of an earlier value, except for OAuth tokens.
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
