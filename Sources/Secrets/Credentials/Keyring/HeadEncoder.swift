internal import HTTP1
internal import Policy
@_spi(SecretBytes) internal import Secrets
internal import TLS

/// Writes requests with credentials in the syntax of one HTTP version.
///
/// `send` needs a `VerifiedSession`, so no encoder can write a credential for another connection.
protocol HeadEncoder {
  /// What the caller must know about a sent request.
  associatedtype Sent

  /// The protocol of the sessions that the encoder can write to.
  var applicationProtocol: ApplicationProtocol { get }

  /// Returns the content of the request's whole body, without framing; `nil` if `body` has only a part of it.
  /// - Parameter body: the first bytes of the body, in the form that `send` gets.
  func content(of request: borrowing OutgoingRequest, in body: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer?

  /// Encodes the head of `request` with `credential`, and sends the head and `body`, in one TLS record if they fit.
  ///
  /// Copies of the credential must be in locked memory, and wiped before this function returns.
  func send(
    _ request: borrowing OutgoingRequest, with credential: borrowing CredentialParts, body: Span<UInt8>,
    over session: inout VerifiedSession
  ) throws(AuthorizationError) -> Sent
}

/// A credential in the form for one request. Points to locked memory, and is valid only during `HeadEncoder.send`.
struct CredentialParts: ~Copyable {
  /// The query parameter to add to the target, as in `name=value`. Empty if there is none.
  let parameter: UnsafeRawBufferPointer
  /// The cookie to add to the request's cookies, as in `name=value`. Empty if there is none.
  let cookie: UnsafeRawBufferPointer
  /// The field lines, in order: the signature, the fields that are the same for each request, and the jar's cookies.
  /// Each buffer has whole lines `name: value` with CRLF, or is empty.
  let signature: UnsafeRawBufferPointer
  let lines: UnsafeRawBufferPointer
  private let jar: CookieLine?

  private static var nothing: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }

  /// - Parameter isCookie: whether `lines` is a Cookie field, whose value joins the request's cookies.
  init(
    lines: UnsafeRawBufferPointer, isCookie: Bool = false, parameter: UnsafeRawBufferPointer = nothing,
    signature: UnsafeRawBufferPointer = nothing, jar: CookieLine?
  ) {
    (cookie, self.lines) = isCookie ? CredentialParts.split(lines) : (CredentialParts.nothing, lines)
    (self.parameter, self.signature, self.jar) = (parameter, signature, jar)
  }

  /// Returns the value of the first field, and the other lines.
  private static func split(_ lines: UnsafeRawBufferPointer) -> (UnsafeRawBufferPointer, UnsafeRawBufferPointer) {
    var pairs = FieldPairs()
    guard let pair = pairs.next(in: Span(_unsafeBytes: lines)) else { return (nothing, lines) }
    return (
      UnsafeRawBufferPointer(rebasing: lines[pair.value]), UnsafeRawBufferPointer(rebasing: lines[pairs.position...])
    )
  }

  /// Calls `body` with the lines of the jar's cookies; empty if there are none.
  @inline(__always)
  func withJar<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    guard let jar else { return try body(CredentialParts.nothing) }
    return try jar.secret.withBytes(body)
  }

  /// Calls `body` with the lines of each part of the credential that is sent in fields.
  @inline(__always)
  func forEachPart(_ body: (UnsafeRawBufferPointer) -> Void) {
    body(signature)
    body(lines)
    jar?.secret.withBytes { body($0) }
  }
}
