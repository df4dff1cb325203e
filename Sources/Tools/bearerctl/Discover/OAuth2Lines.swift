internal import Configuration
internal import Console
internal import OAuth

/// The `oauth2:` lines of a credential, from the metadata of a server.
struct OAuth2Lines {
  let metadata: ServerMetadata
  let grant: GrantChoice
  var clientAuth: ClientAuthChoice
  /// The ID of a registered client; `nil` if the user must add it.
  var clientID: String?
  /// The file of the client secret.
  var secretFile: String?
  var scope: [String] = []
  var caFile: String?

  /// Maximum number of the server's scopes in the comment.
  private static let maximumScopes = 40

  var text: String {
    (["oauth2:"] + lines.map { "  \($0)" }).joined(separator: "\n") + "\n"
  }

  private var lines: [String] {
    var lines = [url("token_url", .token)]
    lines.append(url("revocation_url", .revocation))
    lines.append("grant: \(grant.rawValue)" + grantRemark)
    switch grant {
    case .authorizationCode: lines += [url("authorization_url", .authorization), issuer, pkce]
    case .deviceCode: lines.append(url("device_authorization_url", .deviceAuthorization))
    case .refreshToken: lines.append("refresh_token: { file: secrets/NAME.refresh }   # the token of your login")
    case .jwtBearer: lines.append("issuer: ISSUER   # the name of the service account (iss)")
    case .tokenExchange:
      lines.append("subject_token: { file: secrets/NAME.token }   # the token to exchange")
      lines.append("subject_token_type: \(Self.quoted("urn:ietf:params:oauth:token-type:access_token"))")
    case .password: lines += ["user: USER", "password: { file: secrets/NAME.password }"]
    case .clientCredentials: break
    }
    lines.append(
      clientID.map { "client_id: \(Self.quoted($0))" } ?? "client_id: CLIENT_ID   # the ID that the server gave you")
    lines.append("client_auth: \(clientAuth.rawValue)" + clientAuthRemark)
    if clientAuth.needsSecret {
      lines.append(
        secretFile.map { "client_secret: { file: \(Self.quoted($0)) }" }
          ?? "client_secret: { file: secrets/NAME.client }   # put the client secret into this file")
    }
    if clientAuth == .privateKeyJWT || grant == .jwtBearer {
      lines.append("private_key: { file: secrets/NAME.pem }   # your private key")
    }
    if clientAuth == .tlsClientAuth || clientAuth == .selfSignedTLSClientAuth {
      lines.append("# Also add client_certificate to the credential, next to oauth2.")
    }
    lines += scopeLines
    if let caFile { lines.append("ca_file: \(Self.quoted(caFile))") }
    return lines.filter { !$0.isEmpty }
  }

  private func url(_ key: String, _ name: ServerMetadata.EndpointName) -> String {
    if let endpoint = metadata.endpoints[name] { return "\(key): \(Self.quoted("\(endpoint)"))" }
    return metadata.unusableEndpoints.contains(name)
      ? "# The server's \(name.rawValue) is not an https URL without a query, so bearerd cannot use it." : ""
  }

  private var grantRemark: String {
    if !grant.isOffered(by: metadata) { return "   # the server does not list this grant" }
    let others = GrantChoice.offered(by: metadata).filter { $0 != grant }.map(\.rawValue)
    return others.isEmpty ? "" : "   # the server also offers \(others.joined(separator: ", "))"
  }

  private var clientAuthRemark: String {
    let accepted = ClientAuthChoice.accepted(by: metadata, for: grant)
    if !accepted.contains(clientAuth) { return "   # the server does not list this method" }
    let others = accepted.filter { $0 != clientAuth }.map(\.rawValue)
    return others.isEmpty ? "" : "   # the server also accepts \(others.joined(separator: ", "))"
  }

  private var issuer: String {
    // RFC 9207: with `issuer`, bearerd refuses a response without `iss`.
    metadata.sendsIssuer ? "issuer: \(Self.quoted(metadata.issuer))" : ""
  }

  private var pkce: String {
    guard let methods = metadata.codeChallengeMethods, !methods.contains("S256") else { return "" }
    return "# The server does not list PKCE with S256, which bearerd uses. A login may fail."
  }

  private var scopeLines: [String] {
    if !scope.isEmpty { return ["scope: [\(scope.map(Self.quoted).joined(separator: ", "))]"] }
    guard let scopes = metadata.scopes, !scopes.isEmpty else {
      return ["# scope: [SCOPE]   # see the documentation of the API"]
    }
    let rest = scopes.count - Self.maximumScopes
    let names = scopes.prefix(Self.maximumScopes).map(Self.quoted).joined(separator: ", ")
    return [
      "# scope: [\(names)]",
      "# These are \(rest > 0 ? "\(Self.maximumScopes) of the \(scopes.count)" : "the") scopes of the server. Keep only those that your programs need.",
    ]
  }

  private static func quoted(_ text: String) -> String { ConfigurationTree.quoted(text) }
}

extension OAuth2Lines {
  /// Chooses what the options leave open. Throws `Failure` if the server does not have what the grant needs.
  init(
    _ metadata: ServerMetadata, grant: GrantChoice?, clientAuth: ClientAuthChoice?,
    allowed: [GrantChoice] = GrantChoice.allCases
  ) throws(Failure) {
    guard metadata.endpoints[.token] != nil else {
      throw Failure(
        Failure.no, "the metadata of \(metadata.issuer) has no token_endpoint that is an https URL without a query")
    }
    let offered = GrantChoice.offered(by: metadata).filter(allowed.contains)
    guard let grant = grant ?? offered.first else {
      throw Failure(
        Failure.no,
        "\(metadata.issuer) offers none of the grants \(allowed.map(\.rawValue).joined(separator: ", ")). To choose one of them anyway, add --grant"
      )
    }
    if let endpoint = grant.loginEndpoint, metadata.endpoints[endpoint] == nil {
      throw Failure(
        Failure.no,
        "grant \(grant.rawValue) needs \(endpoint.rawValue), and the metadata of \(metadata.issuer) has no such https URL"
      )
    }
    self.init(
      metadata: metadata, grant: grant,
      clientAuth: clientAuth ?? ClientAuthChoice.accepted(by: metadata, for: grant).first ?? .basic)
  }
}
