internal import HTTP1
internal import JSON
internal import Policy
@_spi(SecretBytes) internal import Secrets
internal import System

/// The answer of a login URL to a `LoginBody`: a token in its JSON, or a cookie. It is read as strictly as a token endpoint's
/// answer; never is a byte of it in a sentence.
///
/// A redirect is no success, although some sites log in by one: it may as well lead to the form, with a session of no user.
struct LoginAnswer {
  let head: AnswerHead
  let form: LoginForm
  let source: TokenSource
  /// Seconds since 1970.
  let now: Int64
  let arena: SecretArena

  /// Bytes of a cookie's value: user agents take 4096 of all of it (RFC 6265 section 6.1).
  private static let longestCookie = 4_096

  /// - Parameters:
  ///   - body: the whole one.
  ///   - cookies: the values of its Set-Cookie fields, in their order.
  func read(
    _ body: Span<UInt8>, cookies: SetCookieLines
  ) throws(TokenRefusal) -> TokenGrant {
    try checkStatus()
    let secret: Secret
    var lifetime: UInt64?
    switch form.prize {
    case .cookie(let name):
      secret = try cookies.withBytes { (bytes) throws(TokenRefusal) in
        try cookie(name, of: bytes, cookies.ranges, &lifetime)
      }
      if let path = form.expiresIn { lifetime = try self.lifetime(at: path, try document(body)) }
    case .token(let path):
      let document = try document(body)
      secret = try token(at: path, document)
      if let path = form.expiresIn { lifetime = try self.lifetime(at: path, document) }
    }
    if let most = form.lifetime { lifetime = min(lifetime ?? most, most) }
    return TokenGrant(
      accessToken: secret, refreshToken: nil, lifetime: lifetime.map { min($0, TokenGrant.longestLifetime) },
      remark: nil)
  }

  /// Judges the status. After 401 the password is not tried again until it changes: the site may lock the account (T41).
  private func checkStatus() throws(TokenRefusal) {
    switch head.status {
    case 200..<300: return
    case 300..<400:
      throw TokenRefusal(
        .misconfigured,
        "\(name) redirects (\(head.status)), which is not followed: is it the URL that programs log in at?")
    case 401:
      throw TokenRefusal(
        .final, "\(name) answered 401: it refuses this name and password, and is not asked with them again")
    case 404, 405, 410: throw TokenRefusal(.misconfigured, "\(name) answered \(head.status): correct its URL")
    case 408, 425, 429, 500..<600:
      throw TokenRefusal(
        .transient(retryAfter: head.pause(now: now)), "\(name) answered \(head.status): it is asked again")
    default:
      throw TokenRefusal(
        .misconfigured,
        "\(name) answered \(head.status): look at the fields of \(source.credential), and at the account")
    }
  }

  private func cookie(
    _ wanted: String, of bytes: Span<UInt8>, _ lines: [Range<Int>], _ lifetime: inout UInt64?
  ) throws(TokenRefusal) -> Secret {
    var found: SetCookie?
    // User agents keep the last of two (RFC 6265 section 5.3).
    for line in lines {
      if let cookie = SetCookie(line, of: bytes), cookie.isNamed(wanted, of: bytes) { found = cookie }
    }
    guard let found else {
      throw TokenRefusal(
        .misconfigured,
        "\(name) answered \(head.status) without a cookie \(wanted): are the fields right, and the cookie's name?")
    }
    switch found.lifetime(now: head.clock(now: now), of: bytes) {
    case .ended: throw TokenRefusal(.misconfigured, "\(name) takes the cookie \(wanted) away: are the fields right?")
    case .unknown: break
    case .seconds(let seconds): lifetime = TokenGrant.milliseconds(Double(seconds))
    }
    guard found.isSendable(of: bytes), found.value.count <= Self.longestCookie else {
      throw TokenRefusal(.misconfigured, "\(name) gives a cookie \(wanted) that is too long, or cannot be sent back")
    }
    return try bytes.extracting(found.value).withUnsafeBytes { (bytes) throws(TokenRefusal) in try copy(bytes) }
  }

  private func document(_ body: Span<UInt8>) throws(TokenRefusal) -> JSONDocument {
    guard head.isJSON else { throw malformed("with something else than JSON") }
    do throws(JSONDocument.Problem) {
      return try body.withUnsafeBytes { (bytes) throws(JSONDocument.Problem) in try JSONDocument(bytes) }
    } catch {
      switch error {
      case .tooLarge: throw malformed("with more than \(TokenAnswer.longestBody) bytes")
      case .tooDeep, .malformed: throw malformed("with no JSON object, or one that can be read in two ways")
      }
    }
  }

  private func token(at path: [String], _ document: borrowing JSONDocument) throws(TokenRefusal) -> Secret {
    let place = path.joined(separator: ".")
    let token = try document.withText(at: path) { (text) throws(TokenRefusal) -> Secret in
      guard !text.isEmpty, text.count <= TokenGrant.longestToken, text.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
        throw malformed("with a token at \(place) that is empty, too long, or has bytes that no field may have")
      }
      return try copy(text)
    }
    switch consume token {
    case .some(let token): return token
    case .none:
      throw TokenRefusal(
        .misconfigured,
        "\(name) answered \(head.status) without a text at \(place): are the fields right, and the path?")
    }
  }

  /// Seconds, as a number or a text of digits. What makes no sense is refused: a wrong path is seen at once, and not when the
  /// session ends.
  private func lifetime(at path: [String], _ document: borrowing JSONDocument) throws(TokenRefusal) -> UInt64? {
    let text = document.withText(at: path) { TokenGrant.number($0) } ?? nil
    guard let seconds = document.number(at: path) ?? text, seconds >= 1 else {
      throw TokenRefusal(
        .misconfigured,
        "\(name) answered \(head.status) without a number of seconds at \(path.joined(separator: ".")): correct expires_in"
      )
    }
    return TokenGrant.milliseconds(seconds)
  }

  private func copy(_ bytes: UnsafeRawBufferPointer) throws(TokenRefusal) -> Secret {
    do throws(SystemError) {
      var secret = try Secret(capacity: bytes.count, in: arena)
      try secret.append(bytes)
      return secret
    } catch {
      throw TokenRefusal(.transient(retryAfter: nil), "there is no memory for the session: \(error)")
    }
  }

  private func malformed(_ what: String) -> TokenRefusal {
    TokenRefusal(
      .transient(retryAfter: head.pause(now: now)), "\(name) answered \(head.status) \(what): it is asked again")
  }

  private var name: String { source.endpoint.description }
}
