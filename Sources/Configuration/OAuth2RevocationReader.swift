internal import Policy

/// `revocation_url` of `oauth2`: where `bearerctl logout` gives tokens back (RFC 7009).
extension SettingsReader {
  func revocation(_ fields: Fields<OAuth2Key>) -> Endpoint? {
    guard let node = fields[.revocationURL],
      let text = text(node, "a URL like https://login.example.com/oauth2/revoke"), checkURL(text, at: node.place)
    else { return nil }
    do throws(OriginError) {
      return try Endpoint(parsing: text)
    } catch {
      report.error(node.place, error.message)
      return nil
    }
  }
}
