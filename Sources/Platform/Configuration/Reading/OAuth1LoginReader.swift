internal import Policy
internal import Settings

/// Reads the keys of `oauth1` for a person's login (RFC 5849 section 2), and for its storage.
struct OAuth1LoginReader: SectionReader {
  let context: ReadingContext
  let fields: Fields<OAuth1Key>

  struct Endpoints {
    let requestToken: Endpoint
    let authorize: Endpoint
    let accessToken: Endpoint
  }

  private static let urls = [OAuth1Key.requestTokenURL, .authorizeURL, .accessTokenURL]
  /// The other keys that only a login uses.
  private static let others = [
    OAuth1Key.redirectURI, .loginTimeout, .store, .timeout, .pins, .backupPin, .pinMode, .pinsExpire, .caFile,
    .revocation, .allowAddresses,
  ]

  /// Reads the three URLs. Returns `nil` if the credential has no login, or after an error.
  func endpoints() -> Endpoints? {
    guard Self.urls.contains(where: fields.has) else {
      if let key = Self.others.first(where: fields.has), !Self.urls.contains(where: fields.isMisspelled) {
        report.error(
          fields.location(of: key),
          "\"\(key.rawValue)\" is allowed only with request_token_url, authorize_url and access_token_url",
          help: "add the three URLs to log in with bearerctl login, or delete the line")
      }
      return nil
    }
    for key in [OAuth1Key.token, .tokenSecret] where fields.has(key) {
      report.error(
        fields.location(of: key),
        "\"\(key.rawValue)\" is not allowed together with a login, which gives the token and its secret",
        help: "delete the line, or delete request_token_url, authorize_url and access_token_url")
    }
    for key in Self.urls where !fields.has(key) && !fields.isMisspelled(key) {
      report.error(
        fields.location, "a login needs \"\(key.rawValue)\"", help: "add \(key.rawValue): https://HOST/PATH")
    }
    let requestToken = endpoint(.requestTokenURL, of: fields, like: "https://api.example.com/oauth/request_token")
    let authorize = endpoint(.authorizeURL, of: fields, like: "https://api.example.com/oauth/authorize")
    let accessToken = endpoint(.accessTokenURL, of: fields, like: "https://api.example.com/oauth/access_token")
    guard let requestToken, let authorize, let accessToken else { return nil }
    return Endpoints(requestToken: requestToken, authorize: authorize, accessToken: accessToken)
  }

  /// Reads the rest of the login.
  /// - Parameter name: The name of the credential.
  func token(for client: OAuth1Client, at endpoints: Endpoints, name: String) -> TokenSource? {
    var token = TokenSource(
      credential: name, endpoint: endpoints.accessToken,
      grant: .oauth1(OAuth1Login(client: client, requestToken: endpoints.requestToken)),
      client: TokenClient(id: client.consumerKey.plainText ?? "", authentication: .none))
    token.authorization = endpoints.authorize
    if let redirect = fields[.redirectURI].flatMap({ redirect($0) }) { token.redirect = redirect }
    let timeout = duration(.loginTimeout, of: fields, "a person should not need longer to log in")
    token.loginTimeout = timeout ?? OAuth1Key.loginTimeoutDefault
    token.timeout = duration(.timeout, of: fields, "a person waits for the server") ?? OAuth1Key.timeoutDefault
    readStore(.store, of: fields, into: &token)
    let trust = TrustReader(context: context, fields: fields)
    (token.trust, token.allowedAddresses) = (
      trust.trust(for: endpoints.accessToken.origin.host), trust.allowedAddresses()
    )
    return token
  }
}
