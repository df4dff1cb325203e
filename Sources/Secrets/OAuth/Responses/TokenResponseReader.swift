internal import JSON
internal import Policy
internal import Secrets
internal import Settings

/// Reads an authorization server's response to a `TokenRequest`, for every `TokenRequest.Purpose`.
struct TokenResponseReader {
  let head: TokenResponseHead
  let source: TokenSource
  let purpose: TokenRequest.Purpose
  let now: Int64

  /// Passes the JSON document of a successful response to `body`. Throws for every other response.
  func read<Result: ~Copyable>(
    _ bytes: Span<UInt8>, _ body: (borrowing JSONDocument) throws(TokenRefusal) -> Result
  ) throws(TokenRefusal) -> Result {
    try checkStatus()
    let isGood = head.status == 200
    guard head.isJSON else {
      throw isGood ? malformed("with 200, but without JSON") : unknownReason
    }
    let document: JSONDocument
    do throws(JSONDocument.Problem) {
      document = try bytes.withUnsafeBytes { (bytes) throws(JSONDocument.Problem) in try JSONDocument(bytes) }
    } catch {
      guard isGood else { throw unknownReason }
      switch error {
      case .tooLarge: throw malformed("with more than \(TokenResponse.longestBody) bytes")
      case .tooDeep, .malformed: throw malformed("with an invalid or ambiguous JSON object")
      }
    }
    // Some servers send errors with 200
    switch document.kind("error") {
    case .absent, .null: break
    case .string:
      let code = document.withText("error") { TokenErrorCode($0) } ?? nil
      throw code.map { refusal($0) } ?? unknownReason
    case .boolean, .number, .array, .object: throw unknownReason
    }
    guard isGood else { throw unknownReason }
    return try body(document)
  }

  /// Throws for a status that is an error whatever the body contains, such as a redirect.
  private func checkStatus() throws(TokenRefusal) {
    switch head.status {
    case 200, 400, 401, 403: return
    case 300..<400:
      throw TokenRefusal(
        .misconfigured, "\(name) redirects (\(head.status)), which bearerd does not follow: correct its URL")
    case 404, 405, 410:
      throw TokenRefusal(.misconfigured, "\(name) responded with \(head.status): correct its URL")
    case 408, 425, 429, 500..<600:
      throw TokenRefusal(
        .transient(retryAfter: head.retryDelay(now: now)), "\(name) responded with \(head.status)\(retryNote)")
    case 402, 406..<500: return
    default: throw malformed("with \(head.status)")
    }
  }

  /// The refusal for a response without a registered error code.
  private var unknownReason: TokenRefusal {
    let prefix = "\(name) responded with \(head.status) without a known reason"
    switch head.status {
    case 401, 403:
      return TokenRefusal(.misconfigured, "\(prefix): check client_id, and the secret or key of the client")
    case 400..<500: return TokenRefusal(.misconfigured, "\(prefix): check the settings of \(source.credential)")
    default: return TokenRefusal(.transient(retryAfter: head.retryDelay(now: now)), "\(prefix)\(retryNote)")
    }
  }

  private func refusal(_ code: TokenErrorCode) -> TokenRefusal {
    let refusal = TokenRefusal(code, of: source, to: purpose)
    switch refusal.kind {
    case .transient:
      return TokenRefusal(.transient(retryAfter: head.retryDelay(now: now)), code: code, refusal.sentence)
    case .final, .misconfigured, .pending: return refusal
    }
  }

  func malformed(_ what: String) -> TokenRefusal {
    TokenRefusal(.transient(retryAfter: head.retryDelay(now: now)), "\(name) responded \(what)\(retryNote)")
  }

  /// The end of an error message, which announces the retry. Empty for a revocation.
  private var retryNote: String {
    if case .revocation = purpose { "" } else { ": bearerd tries again" }
  }

  var name: String { (source.endpoint(for: purpose) ?? source.endpoint).description }
}
