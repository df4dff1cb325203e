internal import Primitives
internal import Settings

/// The client metadata in a registration (RFC 7591 section 2).
struct ClientMetadata {
  private let lines: OAuth2Lines

  init(_ lines: OAuth2Lines) { self.lines = lines }

  var json: [UInt8] {
    let grant = lines.grant
    var writer = JSONWriter()
    writer.object { document in
      document.member("client_name", "bearerd")
      document.member("token_endpoint_auth_method", lines.clientAuth.method)
      document.array("grant_types") { types in
        types.member(nil, grant.type)
        if grant.loginEndpoint != nil { types.member(nil, GrantChoice.refreshToken.type) }
      }
      document.array("response_types") { types in
        if grant == .authorizationCode { types.member(nil, "code") }
      }
      if grant == .authorizationCode {
        document.array("redirect_uris") { $0.member(nil, LoopbackRedirect.standard.registeredURI) }
        // OpenID Connect Registration section 2: only native clients may use a loopback address.
        document.member("application_type", "native")
      }
      if !lines.scope.isEmpty { document.member("scope", lines.scope.joined(separator: " ")) }
    }
    return writer.bytes
  }
}
