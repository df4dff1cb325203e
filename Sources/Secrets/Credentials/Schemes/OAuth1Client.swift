package import Secrets

/// Who signs requests (RFC 5849 section 1.1), and how: names, no secret.
package struct OAuth1Client: Sendable, Equatable {
  package enum Method: String, Sendable { case hmacSHA1 = "HMAC-SHA1", plaintext = "PLAINTEXT" }

  package var method = Method.hmacSHA1
  package var consumerKey: FieldValue
  package var consumerSecret: SecretSource
  /// The token of the user for whom the client asks; nil, as is its secret then: the client asks for itself.
  package var token: SecretSource?
  package var tokenSecret: SecretSource?
  /// Visible ASCII without quotes and backslashes; nil: none is said.
  package var realm: String?
  /// `oauth_version`, which may be left out (section 3.1).
  var sendsVersion = true

  package init(consumerKey: FieldValue, consumerSecret: SecretSource) {
    self.consumerKey = consumerKey
    self.consumerSecret = consumerSecret
  }

  var sources: [SecretSource] {
    var sources: [SecretSource] = []
    if case .secret(let key) = consumerKey { sources.append(key) }
    return sources + [consumerSecret, token, tokenSecret].compactMap(\.self)
  }
}
