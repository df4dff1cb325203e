package import Policy

/// How a person's login gives a token with OAuth 1.0 (RFC 5849 section 2). The token never expires and is not renewed.
package struct OAuth1Login: Sendable, Hashable {
  /// The client, without a token.
  package var client: OAuth1Client
  /// The endpoint for request tokens, which RFC 5849 calls temporary credentials (section 2.1).
  package var requestToken: Endpoint

  package init(client: OAuth1Client, requestToken: Endpoint) {
    self.client = client
    self.requestToken = requestToken
  }

  /// The sources of the client's secrets, by role.
  var sources: [(role: TokenSecretRole, source: SecretSource)] {
    let key = client.consumerKey.sources.map { (role: TokenSecretRole.consumerKey, source: $0) }
    switch client.proof {
    case .secret(let secret): return key + [(.clientSecret, secret)]
    case .privateKey(let pem): return key + pem.sources(for: .clientKey)
    }
  }
}

extension TokenSource {
  /// The login with OAuth 1.0; `nil` for other sources.
  package var oauth1: OAuth1Login? {
    if case .oauth1(let login) = grant { login } else { nil }
  }
}
