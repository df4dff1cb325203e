internal import Policy

/// Reads `revocation_url`: the endpoint that revokes tokens (RFC 7009).
extension SettingsReader {
  func revocation(_ fields: Fields<OAuth2Key>) -> Endpoint? {
    fields[.revocationURL].flatMap { endpoint($0, like: "https://login.example.com/oauth2/revoke") }
  }
}
