internal import Policy
@_spi(SecretBytes) package import Secrets
package import Settings
internal import System

/// A login in a browser with OAuth 1.0 (RFC 5849 section 2.2), from the request token to the verifier. For one use only.
package struct OAuth1Authorization: ~Copyable {
  /// The page for the person.
  package let url: String
  private let callbackPath: [UInt8]
  private let origin: String
  private let token: Secret
  private let secret: Secret
  private var isFinished = false
}

extension OAuth1Authorization {
  /// Begins a login with the server's response to `.requestToken`.
  package static func begin(
    _ receiver: TokenResponseReceiver, of source: TokenSource, callback: String, in arena: SecretArena
  ) throws(TokenRefusal) -> OAuth1Authorization {
    var refusal: TokenRefusal?
    let authorization = receiver.withResponse { head, body -> OAuth1Authorization? in
      let response = OAuth1Response(
        head: head, source: source, purpose: .requestToken(callback: callback), arena: arena)
      do throws(TokenRefusal) {
        return try OAuth1Authorization(try response.requestToken(body), of: source, in: arena)
      } catch {
        refusal = error
        return nil
      }
    }
    guard let authorization else {
      throw refusal ?? TokenRefusal(.misconfigured, "\(source.endpoint) gave no request token")
    }
    return authorization
  }

  private init(
    _ credentials: consuming OAuth1Credentials, of source: TokenSource, in arena: SecretArena
  ) throws(TokenRefusal) {
    guard let page = source.authorization else {
      throw TokenRefusal(.misconfigured, "the configuration of \(source.credential) has no endpoint for this")
    }
    do throws(SystemError) {
      var query = try ParameterWriter(.form, in: arena)
      try query.add("oauth_token", credentials.token)
      let path = source.redirect.path
      self.init(
        url: "\(page)?" + (try query.finish()).withBytes { String(decoding: $0, as: UTF8.self) },
        callbackPath: path.isEmpty ? [UInt8(ascii: "/")] : Array(path.utf8), origin: page.origin.description,
        token: try credentials.token.duplicate(in: arena), secret: try credentials.secret.duplicate(in: arena))
    } catch {
      throw TokenRefusal(.transient(retryAfter: nil), "cannot allocate memory for the request token")
    }
  }

  /// Evaluates the browser's callback, a GET request to the redirect URI. `.code` is the verifier.
  /// - Parameter target: the request target, a path and query.
  package mutating func evaluate(_ target: Span<UInt8>, in arena: SecretArena) -> BrowserLogin.Verdict {
    do throws(SystemError) {
      let query = try CallbackQuery(target, in: arena)
      guard query.path == callbackPath else { return .unrelated("this page does not exist") }
      guard !isFinished else { return .refused("this login has already ended") }
      isFinished = true
      // OAuth 1.0 has no `state`: the request token says to which login the callback belongs.
      guard case .once(let received) = try query.value("oauth_token", in: arena), received.isEqual(to: token) else {
        return .refused("the response has no oauth_token, or the oauth_token of another login")
      }
      guard case .once(let verifier) = try query.value("oauth_verifier", in: arena), verifier.count > 0 else {
        return .refused("\(origin) sent no oauth_verifier or several. Perhaps access was denied there")
      }
      return .code(verifier)
    } catch {
      return .refused("cannot allocate memory for secrets")
    }
  }

  /// Adds copies of the request token and its secret, and the verifier, to the secrets of a request.
  package borrowing func put(
    _ verifier: consuming Secret, into secrets: TokenSecrets, in arena: SecretArena
  ) throws(SecretProblem) {
    secrets.put(.requestToken, try token.copy(in: arena))
    secrets.put(.requestTokenSecret, try secret.copy(in: arena))
    secrets.put(.verifier, verifier)
  }
}

extension Secret {
  fileprivate borrowing func duplicate(in arena: SecretArena) throws(SystemError) -> Secret {
    try withBytes { (bytes) throws(SystemError) in try Secret.copy(of: bytes, in: arena) }
  }
}
