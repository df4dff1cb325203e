internal import Policy
@_spi(SecretBytes) package import Secrets
package import Settings
internal import System

/// A login in a browser: authorization code with PKCE (RFC 6749 section 4.1, RFC 7636). For one use only.
package struct BrowserLogin: ~Copyable {
  package enum Verdict: ~Copyable {
    /// The authorization code.
    case code(Secret)
    /// The callback is refused. The sentence tells the person why.
    case refused(String)
    /// The request does not belong to this login, which continues. The sentence is for the response.
    case unrelated(String)
  }

  package let url: String
  package let redirectURI: String
  private let issuer: String?
  private let origin: String
  private let state: Secret
  private let verifier: Secret
  private var isFinished = false
}

extension BrowserLogin {
  /// - Parameters:
  ///   - redirectURI: `http://127.0.0.1:PORT/callback` (RFC 8252 section 7.3).
  ///   - random: 64 random bytes for `state` and the verifier. The caller wipes them.
  package init(
    _ source: TokenSource, redirectURI: String, random: Span<UInt8>, in arena: SecretArena
  ) throws(SecretProblem) {
    guard random.count >= 64 else { throw SecretProblem("there are no random bytes for a login") }
    guard let authorization = source.authorization else {
      throw SecretProblem("the configuration of \(source.credential) has no endpoint for this")
    }
    do throws(SystemError) {
      let state = try Self.text(random.extracting(0..<32), in: arena)
      let verifier = try Self.text(random.extracting(32..<64), in: arena)
      guard let challenge = try PKCE.challenge(of: verifier) else { throw SystemError(operation: "SHA-256", errno: 0) }
      let query = try Self.query(source, redirectURI, state, challenge, in: arena)
      self.init(
        url: "\(authorization)\(authorization.query == nil ? "?" : "&")"
          + query.withBytes { String(decoding: $0, as: UTF8.self) },
        redirectURI: redirectURI, issuer: source.issuer, origin: authorization.origin.description, state: state,
        verifier: verifier)
    } catch {
      throw .noMemory
    }
  }

  private var callbackPath: [UInt8] {
    // The path begins at the third slash.
    let parts = redirectURI.utf8.split(separator: 0x2F, maxSplits: 3, omittingEmptySubsequences: false)
    return [0x2F] + parts.dropFirst(3).joined()
  }

  /// Evaluates the browser's callback, a GET request to the redirect URI.
  /// - Parameter target: the request target, a path and query.
  package mutating func evaluate(_ target: Span<UInt8>, in arena: SecretArena) -> Verdict {
    do throws(SystemError) {
      let query = try CallbackQuery(target, in: arena)
      guard query.path == callbackPath else { return .unrelated("this page does not exist") }
      guard case .once(let received) = try query.value("state", in: arena), received.isEqual(to: state) else {
        return .unrelated("this response does not belong to the current login")
      }
      // Each `state` is accepted only once, whatever else the callback contains.
      guard !isFinished else { return .refused("this login has already ended") }
      isFinished = true
      return try verdict(query, in: arena)
    } catch {
      return .refused("cannot allocate memory for secrets")
    }
  }

  private func verdict(_ query: borrowing CallbackQuery, in arena: SecretArena) throws(SystemError) -> Verdict {
    for name in ["access_token", "id_token", "token", "refresh_token"] as [StaticString] where query.has(name) {
      return .refused("\(origin) put a token into the browser's URL, where it is not safe: revoke the token")
    }
    guard try isFromIssuer(query, in: arena) else {
      return .refused("the response does not name \(issuer ?? origin) as its issuer")
    }
    if query.has("error") {
      guard case .once(let error) = try query.value("error", in: arena),
        let known = error.withBytes({ KnownErrorCode($0) })
      else { return .refused("\(origin) refused without a known reason") }
      return .refused("\(origin) said \(known.text)")
    }
    guard case .once(let code) = try query.value("code", in: arena), code.count > 0 else {
      return .refused("\(origin) sent no code or several codes")
    }
    return .code(code)
  }

  /// Whether `iss` names the configured issuer, or none is configured (RFC 9207 section 2.4).
  private func isFromIssuer(_ query: borrowing CallbackQuery, in arena: SecretArena) throws(SystemError) -> Bool {
    guard let issuer else { return true }
    guard case .once(let received) = try query.value("iss", in: arena) else { return false }
    return received.withBytes { $0.elementsEqual(issuer.utf8) }
  }

  package borrowing func codeVerifier(in arena: SecretArena) throws(SecretProblem) -> Secret {
    try verifier.copy(in: arena)
  }

  private static func text(_ random: Span<UInt8>, in arena: SecretArena) throws(SystemError) -> Secret {
    var text = try Secret(capacity: 43, in: arena)
    try random.withUnsafeBytes { (bytes) throws(SystemError) in try text.appendBase64URL(bytes) }
    return text
  }

  private static func query(
    _ source: TokenSource, _ redirectURI: String, _ state: borrowing Secret, _ challenge: String, in arena: SecretArena
  ) throws(SystemError) -> Secret {
    var query = try ParameterWriter(.form, in: arena)
    try query.add("response_type", "code")
    try query.add("client_id", source.client.id)
    try query.add("redirect_uri", redirectURI)
    if !source.scope.isEmpty { try query.add("scope", source.scope.joined(separator: " ")) }
    try query.add("state", state)
    try query.add("code_challenge", challenge)
    try query.add("code_challenge_method", "S256")
    for resource in source.resource { try query.add("resource", resource) }
    for audience in source.audience { try query.add("audience", audience) }
    for parameter in source.parameters {
      // The browser keeps URLs, so that secrets are sent only to the token endpoint.
      if case .plain(let text) = parameter.value { try query.add(parameter.name, text) }
    }
    return try query.finish()
  }
}
