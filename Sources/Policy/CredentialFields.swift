/// Names under which a client could send a credential of its own, or choose another identity, method or path (T14, T45).
/// On requests that get our credential they are removed. Compared without regard to case and with `_` read as `-`, because
/// CGI and WSGI servers fold both into one variable.
package enum CredentialFields {
  /// A field that may carry a credential.
  /// - Parameter range: the name's place in `bytes`.
  package static func isCredentialLike(name bytes: [UInt8], range: Range<Int>) -> Bool {
    credentials.contains(bytes.span.extracting(range))
  }

  /// A field that chooses another identity or another method or path than the line that was judged, or that claims to
  /// say who asks (T10, T18, T45).
  package static func isImpersonation(name bytes: [UInt8], range: Range<Int>) -> Bool {
    impersonations.contains(bytes.span.extracting(range))
  }

  /// A query parameter that carries a credential, chooses another identity or overrides the method. The name without its
  /// percent-escapes. `key` and `token` are not among them: too many APIs mean something else by them.
  package static func isCredentialParameter(decodedName name: [UInt8]) -> Bool {
    parameters.contains(name.span)
  }

  private static let credentials = NameList(
    names: [
      "authorization", "proxy-authorization", "x-authorization", "x-goog-iam-authorization-token", "cookie", "cookie2",
      "api-key", "apikey", "x-api-key", "x-apikey", "x-api-token", "xi-api-key", "x-goog-api-key", "x-rapidapi-key",
      "x-redmine-api-key", "x-algolia-api-key", "x-nuget-apikey", "x-octopus-apikey", "x-jfrog-art-api",
      "x-functions-key",
      "dd-api-key", "dd-application-key", "fastly-key", "ocp-apim-subscription-key", "x-honeycomb-team",
      "token", "x-token", "auth-token", "x-auth-token", "x-auth-key", "x-auth-email", "access-token", "x-access-token",
      "x-session-token", "x-subscription-token", "private-token", "job-token", "deploy-token", "x-gitlab-token",
      "circle-token", "x-figma-token", "x-plex-token", "x-trackertoken", "x-vault-token", "x-consul-token",
      "x-nomad-token", "x-amz-security-token", "x-shopify-access-token", "x-shopify-storefront-access-token",
      "x-postmark-server-token", "x-postmark-account-token", "x-registry-auth",
    ], prefixes: ["cf-access-"])

  private static let impersonations = NameList(
    names: [
      "sudo", "x-sudo", "remote-user", "x-authenticated-user", "x-authenticated-userid", "x-goog-user-project",
      "openai-organization", "openai-project", "forwarded", "x-real-ip", "x-client-ip", "true-client-ip",
      "x-http-method-override", "x-http-method", "x-method-override", "x-original-url", "x-original-uri",
      "x-original-host", "x-original-method", "x-rewrite-url",
    ],
    prefixes: [
      "impersonate-", "x-impersonate-", "x-forwarded-", "x-remote-", "x-webauth-", "x-auth-request-",
      "x-goog-authenticated-user-", "x-ms-client-principal", "x-amzn-oidc-",
    ])

  private static let parameters = NameList(
    names: [
      "access-token", "api-key", "apikey", "x-api-key", "api-token", "auth-token", "oauth-token", "private-token",
      "job-token", "subscription-key", "sudo", "-method",
    ], prefixes: [])
}

/// Names in lower case with `-`, found without allocation. An ordinary name is told apart by its length and first letter.
private struct NameList: Sendable {
  private let names: [[UInt8]]
  private let prefixes: [[UInt8]]
  /// For each length, one bit per first byte modulo 32: which names may follow.
  private let initials: [UInt32]
  private let prefixInitials: UInt32

  init(names: [String], prefixes: [String]) {
    self.names = names.map { Array($0.utf8) }
    self.prefixes = prefixes.map { Array($0.utf8) }
    var initials = [UInt32](repeating: 0, count: 1 + (self.names.map(\.count).max() ?? 0))
    for name in self.names { initials[name.count] |= Self.bit(name[0]) }
    self.initials = initials
    prefixInitials = self.prefixes.reduce(0) { $0 | Self.bit($1[0]) }
  }

  func contains(_ name: Span<UInt8>) -> Bool {
    guard name.count > 0 else { return false }
    let bit = Self.bit(Self.folded(name[0]))
    if name.count < initials.count, initials[name.count] & bit != 0 {
      for known in names where known.count == name.count && Self.begins(name, with: known) { return true }
    }
    guard prefixInitials & bit != 0 else { return false }
    for prefix in prefixes where Self.begins(name, with: prefix) { return true }
    return false
  }

  private static func begins(_ name: Span<UInt8>, with known: [UInt8]) -> Bool {
    guard name.count >= known.count else { return false }
    for index in known.indices where folded(name[index]) != known[index] { return false }
    return true
  }

  private static func bit(_ byte: UInt8) -> UInt32 { 1 << UInt32(byte & 31) }

  private static func folded(_ byte: UInt8) -> UInt8 {
    byte == UInt8(ascii: "_") ? UInt8(ascii: "-") : ByteClass.lowercased(byte)
  }
}
