internal import JSON
internal import Policy
internal import Secrets

/// One answer of an authorization server, whatever it was asked for.
struct AnswerReader {
  let head: AnswerHead
  let source: TokenSource
  let purpose: TokenRequest.Purpose
  let now: Int64

  /// The document of a success, for `body` to take from it; everything else is refused here.
  func read<Result: ~Copyable>(
    _ bytes: Span<UInt8>, _ body: (borrowing JSONDocument) throws(TokenRefusal) -> Result
  ) throws(TokenRefusal) -> Result {
    try checkStatus()
    let isGood = head.status == 200
    guard head.isJSON else {
      throw isGood ? malformed("with 200, but without JSON") : unexplained
    }
    let document: JSONDocument
    do throws(JSONDocument.Problem) {
      document = try bytes.withUnsafeBytes { (bytes) throws(JSONDocument.Problem) in try JSONDocument(bytes) }
    } catch {
      guard isGood else { throw unexplained }
      switch error {
      case .tooLarge: throw malformed("with more than \(TokenAnswer.longestBody) bytes")
      case .tooDeep, .malformed: throw malformed("with an invalid or ambiguous JSON object")
      }
    }
    // Some servers send errors with 200
    switch document.kind("error") {
    case .absent, .null: break
    case .string:
      let code = document.withText("error") { TokenErrorCode($0) } ?? nil
      throw code.map { refusal($0) } ?? unexplained
    case .boolean, .number, .array, .object: throw unexplained
    }
    guard isGood else { throw unexplained }
    return try body(document)
  }

  /// Whose body does not matter.
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
        .transient(retryAfter: head.pause(now: now)), "\(name) responded with \(head.status)\(again)")
    case 402, 406..<500: return
    default: throw malformed("with \(head.status)")
    }
  }

  /// Nothing that is registered says why.
  private var unexplained: TokenRefusal {
    let said = "\(name) responded with \(head.status) without a known reason"
    switch head.status {
    case 401, 403: return TokenRefusal(.misconfigured, "\(said): check client_id, and the secret or key of the client")
    case 400..<500: return TokenRefusal(.misconfigured, "\(said): check the settings of \(source.credential)")
    default: return TokenRefusal(.transient(retryAfter: head.pause(now: now)), "\(said)\(again)")
    }
  }

  private func refusal(_ code: TokenErrorCode) -> TokenRefusal {
    let refusal = TokenRefusal(code, of: source, to: purpose)
    switch refusal.kind {
    case .transient: return TokenRefusal(.transient(retryAfter: head.pause(now: now)), code: code, refusal.sentence)
    case .final, .misconfigured, .pending: return refusal
    }
  }

  func malformed(_ what: String) -> TokenRefusal {
    TokenRefusal(.transient(retryAfter: head.pause(now: now)), "\(name) responded \(what)\(again)")
  }

  /// A token is given back once.
  private var again: String {
    if case .revocation = purpose { "" } else { ": bearerd tries again" }
  }

  var name: String {
    let endpoint: Endpoint? =
      switch purpose {
      case .token, .deviceToken, .code: source.endpoint
      case .deviceAuthorization: source.deviceAuthorization
      case .revocation: source.revocation
      }
    return (endpoint ?? source.endpoint).description
  }
}
