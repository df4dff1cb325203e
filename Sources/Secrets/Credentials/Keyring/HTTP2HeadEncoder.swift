internal import HTTP1
package import HTTP2
internal import Policy
@_spi(SecretBytes) internal import Secrets
internal import System
internal import TLS

/// Writes HTTP/2 requests. Gives the credential's fields to the session without a copy, and combines the encoded head and
/// the body in the locked memory of a keyring.
struct HTTP2HeadEncoder: HeadEncoder {
  let session: HTTP2Session
  let fields: HTTP2RequestFields
  /// Where the request waits for the end of the turn of the loop, if there is a `user`.
  let stage: RequestStage
  /// The connection that writes the stage. `nil` to send at once.
  let user: (any RequestStageUser)?
  /// The memory for one TLS record, which `stage` uses too. Zero except during `send`, and while the stage has requests.
  let staging: UnsafeMutableRawBufferPointer
  /// The locked memory for a target that contains a credential.
  let arena: SecretArena
  /// Whether the body that `send` gets is the whole body.
  let endsBody: Bool

  var applicationProtocol: ApplicationProtocol { .http2 }

  func send(
    _ request: borrowing OutgoingRequest, with credential: borrowing CredentialParts, body: Span<UInt8>,
    over session: inout VerifiedSession
  ) throws(AuthorizationError) -> HTTP2Session.StreamID {
    let parameter = credential.parameter
    if parameter.isEmpty {
      return try send(request, path: parameter, with: credential, body: body, over: &session)
    }
    let target: Secret
    do throws(SystemError) {
      target = try request.target(adding: parameter, in: arena)
    } catch {
      throw AuthorizationError(reason: .unavailable, detail: "cannot allocate memory for secrets: \(error)")
    }
    return try target.withBytes { (path) throws(AuthorizationError) in
      try send(request, path: path, with: credential, body: body, over: &session)
    }
  }

  /// - Parameter path: the target with the credential's query parameter. Empty if the request's own target is sent.
  private func send(
    _ request: borrowing OutgoingRequest, path: UnsafeRawBufferPointer, with credential: borrowing CredentialParts,
    body: Span<UInt8>, over verified: inout VerifiedSession
  ) throws(AuthorizationError) -> HTTP2Session.StreamID {
    let sent: Result<HTTP2Session.StreamID, HTTP2RequestError>
    if let user {
      stage.begin(user, over: verified)
      sent = send(request, path: path, with: credential, body: body) { stage.append($0, over: &verified) }
    } else {
      var record = RecordBuffer(memory: staging)
      defer { record.wipe() }
      sent = send(request, path: path, with: credential, body: body) { record.append($0, over: &verified) }
      // Also after an error: the bytes may belong to other requests of the connection.
      do throws(TLSError) { try record.finish(over: &verified) } catch { throw AuthorizationError(error) }
    }
    do throws(HTTP2RequestError) { return try sent.get() } catch { throw AuthorizationError(error) }
  }

  private func send(
    _ request: borrowing OutgoingRequest, path: UnsafeRawBufferPointer, with credential: borrowing CredentialParts,
    body: Span<UInt8>, _ write: (UnsafeRawBufferPointer) -> Void
  ) -> Result<HTTP2Session.StreamID, HTTP2RequestError> {
    credential.withJar { jar in
      var parts = HTTP2CredentialFields()
      (parts.path, parts.cookie, parts.signature) = (path, credential.cookie, credential.signature)
      (parts.lines, parts.jar) = (credential.lines, jar)
      return Result { () throws(HTTP2RequestError) in
        try fields.send(request, adding: parts, body: body, endsBody: endsBody, through: session, write)
      }
    }
  }

  func content(of request: borrowing OutgoingRequest, in body: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    switch request.bodyLength {
    case .none, .untilClose: UnsafeRawBufferPointer(rebasing: body[..<0])
    case .length(let count): count == UInt64(body.count) ? body : nil
    case .chunked: endsBody ? body : nil
    }
  }
}

extension AuthorizationError {
  package init(_ error: HTTP2RequestError) {
    switch error {
    case .unsuitable(let detail): self.init(reason: .streamRefused, detail: detail)
    case .session(let error) where !error.endsConnection:
      self.init(reason: .streamRefused, detail: error.description)
    case .session(let error): self.init(TLSError(kind: .closed, detail: error.description))
    }
  }
}
