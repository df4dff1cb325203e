internal import Credentials
@_spi(SecretBytes) internal import Secrets
internal import Settings
internal import System

/// A token and its secret, which a server has sent as a form (RFC 5849 sections 2.1 and 2.3).
struct OAuth1Credentials: ~Copyable {
  let token: Secret
  /// May be empty.
  let secret: Secret
}

/// Reads a server's response to a request for a token with OAuth 1.0. Error messages contain no text of the server.
struct OAuth1Response {
  let head: TokenResponseHead
  let source: TokenSource
  let purpose: TokenRequest.Purpose
  let arena: SecretArena

  /// Reads a request token (RFC 5849 section 2.1).
  func requestToken(_ body: Span<UInt8>) throws(TokenRefusal) -> OAuth1Credentials {
    try read(body) { (form) throws(SystemError) in
      // Servers that do not confirm the callback support only OAuth 1.0, where a login can be stolen.
      guard case .once(let value) = try form.value("oauth_callback_confirmed", in: arena),
        // Authlib writes `True`.
        value.withBytes({ $0.count == 4 && zip($0, "true".utf8).allSatisfy { $0 | 0x20 == $1 } })
      else { return "without oauth_callback_confirmed=true, so it does not support OAuth 1.0a" }
      return nil
    }
  }

  /// Reads the token of a person's login (RFC 5849 section 2.3). Its value has the form of `Secret.oauth1Pair`.
  func grant(_ body: Span<UInt8>) throws(TokenRefusal) -> TokenGrant {
    let credentials = try read(body) { _ in nil }
    let pair: Secret
    do throws(SystemError) {
      pair = try Secret.oauth1Pair(token: credentials.token, secret: credentials.secret, in: arena)
    } catch {
      throw Self.noMemory
    }
    guard pair.count <= TokenGrant.longestToken else { throw refusal("with a token that is too long") }
    return TokenGrant(accessToken: pair, refreshToken: nil, lifetime: nil, remark: nil)
  }

  /// - Parameter problem: returns what else is wrong with the form. `nil` if nothing is.
  private func read(
    _ body: Span<UInt8>, _ problem: (borrowing FormFields) throws(SystemError) -> String?
  ) throws(TokenRefusal) -> OAuth1Credentials {
    try checkHead()
    guard body.count <= FormFields.longest else { throw refusal("with more than \(FormFields.longest) bytes") }
    var sentence = "without one oauth_token and one oauth_token_secret in a form"
    do throws(SystemError) {
      let form = try FormFields(body, in: arena)
      if let problem = try problem(form) {
        sentence = problem
      } else if case .once(let token) = try form.value("oauth_token", in: arena), token.count > 0,
        token.withBytes(Self.isPlain), case .once(let secret) = try form.value("oauth_token_secret", in: arena),
        secret.withBytes(Self.isPlain)
      {
        return OAuth1Credentials(token: token, secret: secret)
      }
    } catch {
      throw Self.noMemory
    }
    throw refusal(sentence)
  }

  private static func isPlain(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.allSatisfy { (0x20...0x7E).contains($0) }
  }

  private func checkHead() throws(TokenRefusal) {
    switch head.status {
    case 200: break
    case 300..<400:
      throw refusal("with a redirect (\(head.status)), which bearerd does not follow: correct its URL")
    case 404, 405, 410: throw refusal("with \(head.status): correct its URL")
    case 400, 401, 403:
      throw refusal(
        "with \(head.status): check consumer_key, the secret or key that belongs to it, signature, and the clock of this machine"
      )
    default: throw refusal("with \(head.status)")
    }
    guard head.contentEncoding.map({ $0.isEmpty || $0.lowercased() == "identity" }) ?? true else {
      throw refusal("with a compressed body, which bearerd did not ask for")
    }
  }

  private func refusal(_ what: String) -> TokenRefusal {
    TokenRefusal(.misconfigured, "\(source.endpoint(for: purpose) ?? source.endpoint) responded \(what)")
  }

  private static var noMemory: TokenRefusal {
    TokenRefusal(.transient(retryAfter: nil), "cannot allocate memory for the token")
  }
}
