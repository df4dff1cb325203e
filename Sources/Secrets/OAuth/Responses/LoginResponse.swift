internal import HTTP1
internal import JSON
internal import Policy
@_spi(SecretBytes) internal import Secrets
internal import Settings
internal import System

/// The response to a login at a login URL, with a token in JSON or in a cookie.
struct LoginResponse {
  let head: TokenResponseHead
  let form: LoginForm
  let source: TokenSource
  let now: Int64
  let arena: SecretArena

  /// Maximum size of a cookie value, in bytes (RFC 6265 section 6.1).
  private static let longestCookie = 4_096

  func read(
    _ body: Span<UInt8>, cookies: SetCookieLines
  ) throws(TokenRefusal) -> TokenGrant {
    try checkStatus()
    let secret: Secret
    var lifetime: UInt64?
    switch form.extractedValue {
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

  /// Throws if the status is not 2xx (T41).
  private func checkStatus() throws(TokenRefusal) {
    // After 401, the same password is not sent again, because the site may lock the account.
    switch head.status {
    case 200..<300: return
    case 300..<400:
      throw misconfigured("redirects (\(head.status)), which bearerd does not follow: use the login URL for programs")
    case 401:
      throw TokenRefusal(
        .final, "\(name) responded with 401: the name or password is wrong, and bearerd does not try them again")
    case 404, 405, 410: throw misconfigured("responded with \(head.status): correct its URL")
    case 408, 425, 429, 500..<600:
      throw TokenRefusal(
        .transient(retryAfter: head.retryDelay(now: now)), "\(name) responded with \(head.status): bearerd tries again")
    default:
      throw misconfigured(
        "responded with \(head.status): check the fields of \(source.credential), and the account")
    }
  }

  private func cookie(
    _ wanted: String, of bytes: Span<UInt8>, _ lines: [Range<Int>], _ lifetime: inout UInt64?
  ) throws(TokenRefusal) -> Secret {
    var found: SetCookie?
    // Of two cookies with the same name, user agents keep the last (RFC 6265 section 5.3).
    for line in lines {
      if let cookie = SetCookie(line, of: bytes), cookie.isNamed(wanted, of: bytes) { found = cookie }
    }
    guard let found else {
      throw misconfigured(
        "responded with \(head.status) without a cookie \(wanted): check the fields and the cookie's name")
    }
    switch found.lifetime(now: head.serverTime(now: now), of: bytes) {
    case .ended: throw misconfigured("deletes the cookie \(wanted): check the fields")
    case .unknown: break
    case .seconds(let seconds): lifetime = TokenGrant.milliseconds(Double(seconds))
    }
    guard found.isSendable(of: bytes), found.value.count <= Self.longestCookie else {
      throw misconfigured("sets a cookie \(wanted) that is too long or cannot be sent back")
    }
    return try bytes.extracting(found.value).withUnsafeBytes { (bytes) throws(TokenRefusal) in try copy(bytes) }
  }

  private func document(_ body: Span<UInt8>) throws(TokenRefusal) -> JSONDocument {
    guard head.isJSON else { throw malformed("without JSON") }
    do throws(JSONDocument.Problem) {
      return try body.withUnsafeBytes { (bytes) throws(JSONDocument.Problem) in try JSONDocument(bytes) }
    } catch {
      switch error {
      case .tooLarge: throw malformed("and more than \(TokenResponse.longestBody) bytes")
      case .tooDeep, .malformed: throw malformed("and an invalid or ambiguous JSON object")
      }
    }
  }

  private func token(at path: [String], _ document: borrowing JSONDocument) throws(TokenRefusal) -> Secret {
    let location = path.joined(separator: ".")
    let token = try document.withText(at: path) { (text) throws(TokenRefusal) -> Secret in
      guard !text.isEmpty, text.count <= TokenGrant.longestToken, text.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
        throw malformed("and a token at \(location) that is empty, too long or not allowed in a header field")
      }
      return try copy(text)
    }
    guard let token else {
      throw misconfigured(
        "responded with \(head.status) without a string at \(location): check the fields and this path")
    }
    return token
  }

  /// Returns the lifetime at this path of the JSON document, in milliseconds. Throws if it is not a number of seconds.
  private func lifetime(at path: [String], _ document: borrowing JSONDocument) throws(TokenRefusal) -> UInt64? {
    guard let seconds = document.seconds(at: path), seconds >= 1 else {
      throw misconfigured(
        "responded with \(head.status) without a number of seconds at \(path.joined(separator: ".")): correct expires_in"
      )
    }
    return TokenGrant.milliseconds(seconds)
  }

  private func copy(_ bytes: UnsafeRawBufferPointer) throws(TokenRefusal) -> Secret {
    do throws(SystemError) {
      return try Secret.copy(of: bytes, in: arena)
    } catch {
      throw TokenRefusal(.transient(retryAfter: nil), "cannot allocate memory for the session: \(error)")
    }
  }

  private func misconfigured(_ what: String) -> TokenRefusal { TokenRefusal(.misconfigured, "\(name) \(what)") }

  private func malformed(_ what: String) -> TokenRefusal {
    TokenRefusal(
      .transient(retryAfter: head.retryDelay(now: now)),
      "\(name) responded with \(head.status) \(what): bearerd tries again"
    )
  }

  private var name: String { source.endpoint.description }
}
