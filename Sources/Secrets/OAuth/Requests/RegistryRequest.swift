internal import JSON
package import Policy
@_spi(SecretBytes) package import Secrets
package import Settings
internal import System

/// The token requests of container registries.
extension TokenRequest {
  /// Creates the token request for a registry's challenge.
  /// - Parameters:
  ///   - source: the token endpoint, and its TLS requirements.
  ///   - login: user and password, encoded for Basic authentication. Empty if there are none.
  package static func registry(
    _ source: TokenSource, _ challenge: RegistryChallenge, login: borrowing Secret, in arena: SecretArena
  ) throws(SecretProblem) -> TokenRequest {
    do throws(SystemError) {
      var form = try ParameterWriter(.form, in: arena)
      if let service = challenge.service { try form.add("service", String(decoding: service, as: UTF8.self)) }
      for scope in challenge.scopes { try form.add("scope", String(decoding: scope, as: UTF8.self)) }
      let query = try form.finish()
      var bytes = try Secret(capacity: 1024, in: arena)
      try bytes.append("GET \(String(decoding: source.endpoint.target, as: UTF8.self))?")
      try query.withBytes { (query) throws(SystemError) in try bytes.append(query) }
      try bytes.append(" HTTP/1.1\r\nHost: \(source.endpoint.origin.authority)\r\n")
      if login.count > 0 {
        try bytes.append("Authorization: Basic ")
        try login.withBytes { (login) throws(SystemError) in try bytes.append(login) }
        try bytes.append("\r\n")
      }
      try bytes.append("Accept: application/json\r\nAccept-Encoding: identity\r\nUser-Agent: bearerd\r\n")
      try bytes.append("Connection: close\r\n\r\n")
      return TokenRequest(endpoint: source.endpoint, trust: source.trust, bytes: bytes)
    } catch {
      throw .noMemory
    }
  }
}

extension TokenResponse {
  /// Lifetime of a token in milliseconds, if the response has no `expires_in`.
  private static let defaultLifetime: UInt64 = 60_000

  /// Reads a registry's token and its lifetime from a response.
  /// - Parameter body: the caller wipes it.
  package static func read(
    ofRegistry head: TokenResponseHead, _ body: Span<UInt8>, of source: TokenSource, now: Int64, in arena: SecretArena
  ) -> TokenResponse {
    if head.status == 401 || head.status == 403 {
      return .refused(
        TokenRefusal(.misconfigured, "\(source.endpoint) responded with \(head.status): check user and password"))
    }
    do throws(TokenRefusal) {
      let reader = TokenResponseReader(head: head, source: source, purpose: .token, now: now)
      let grant = try reader.read(body) { (document) throws(TokenRefusal) in
        try reader.registryGrant(document, defaultLifetime, in: arena)
      }
      return .granted(grant)
    } catch {
      return .refused(error)
    }
  }
}

extension TokenResponseReader {
  fileprivate func registryGrant(
    _ document: borrowing JSONDocument, _ defaultLifetime: UInt64, in arena: SecretArena
  ) throws(TokenRefusal) -> TokenGrant {
    let name = document.kind("token") == .string ? "token" : "access_token"
    guard document.kind(name) == .string else { throw malformed("without a token or access_token") }
    guard let token = try token([name], document, in: arena, allows: { $0 > 0x20 && $0 < 0x7F }) else {
      throw malformed("with a token that is empty, too long or not allowed in a header field")
    }
    var remarks: [String] = []
    let lifetime = lifetime(at: ["expires_in"], document, &remarks) ?? defaultLifetime
    return TokenGrant(accessToken: token, refreshToken: nil, lifetime: lifetime, remark: nil)
  }
}
