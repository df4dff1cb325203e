internal import JSON
internal import Policy
@_spi(SecretBytes) internal import Secrets
internal import Settings
internal import System

/// Reads an authorization server's response to a `TokenRequest`, for every `TokenRequest.Purpose`.
struct TokenResponseReader {
  let head: TokenResponseHead
  let source: TokenSource
  let purpose: TokenRequest.Purpose
  let now: Int64
  /// Memory for the fields of a form. `nil` if responses are read only as JSON.
  var arena: SecretArena?

  /// Passes the JSON document of a successful response to `body`. Throws for every other response.
  func read<Result: ~Copyable>(
    _ bytes: Span<UInt8>, _ body: (borrowing JSONDocument) throws(TokenRefusal) -> Result
  ) throws(TokenRefusal) -> Result {
    try checkStatus()
    let document: JSONDocument = try bytes.withUnsafeBytes { (bytes) throws(TokenRefusal) in
      try self.document(bytes)
    }
    try checkError(document)
    guard isGood else { throw unknownReason }
    return try body(document)
  }

  private var isGood: Bool { (200..<300).contains(head.status) }

  /// Throws the error that the document contains. Some servers send errors with 200.
  private func checkError(_ document: borrowing JSONDocument) throws(TokenRefusal) {
    switch document.kind("error") {
    case .absent, .null: break
    case .string:
      if isGood, document.isBlank(at: ["error"]) { break }
      let known = document.withText("error") { KnownErrorCode($0) } ?? nil
      throw known.map { refusal($0, document) } ?? unknownReason
    case .boolean, .number, .array, .object: throw unknownReason
    }
    // GoTrue sends its error codes in this member
    if let known = document.withText("error_code", body: { KnownErrorCode($0) }) ?? nil {
      throw refusal(known, document)
    }
  }

  /// Parses the body as JSON, or as a form.
  private func document(_ bytes: UnsafeRawBufferPointer) throws(TokenRefusal) -> JSONDocument {
    let body = TokenBody(bytes)
    if body.isEmpty { throw isGood ? malformed("with \(head.status) and an empty body") : unknownReason }
    if head.isJSON || body.isObject && head.mayBeJSON { return try json(body.bytes) }
    guard !body.isObject, head.mayBeForm, let arena else {
      throw isGood ? malformed("with \(head.status), but without JSON or a form") : unknownReason
    }
    let form: Secret?
    do throws(SystemError) { form = try body.jsonOfForm(in: arena) } catch {
      throw TokenRefusal(.transient(retryAfter: nil), "cannot allocate memory for the response: \(error)")
    }
    guard let form else { throw isGood ? malformed("with an invalid form") : unknownReason }
    return try form.withBytes { (bytes) throws(TokenRefusal) in try json(bytes) }
  }

  private func json(_ bytes: UnsafeRawBufferPointer) throws(TokenRefusal) -> JSONDocument {
    do throws(JSONDocument.Problem) {
      return try JSONDocument(bytes)
    } catch {
      guard isGood else { throw unknownReason }
      switch error {
      case .tooLarge: throw malformed("with more than \(TokenResponse.longestBody) bytes")
      case .tooDeep, .malformed: throw malformed("with an invalid or ambiguous JSON object or form")
      }
    }
  }

  /// Throws for a status that is an error whatever the body contains, such as a redirect.
  private func checkStatus() throws(TokenRefusal) {
    switch head.status {
    case 200..<300, 400, 401, 403: return
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

  private func refusal(_ known: KnownErrorCode, _ document: borrowing JSONDocument) -> TokenRefusal {
    let refusal = TokenRefusal(known, of: source, to: purpose)
    let note = document.number("error_codes", "0").flatMap { KnownErrorCode.microsoftNote($0) } ?? ""
    switch refusal.kind {
    case .transient:
      return TokenRefusal(
        .transient(retryAfter: head.retryDelay(now: now)), code: refusal.code, refusal.sentence + note)
    case .final, .misconfigured, .pending:
      return TokenRefusal(refusal.kind, code: refusal.code, refusal.sentence + note)
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
