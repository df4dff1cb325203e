internal import HTTP1
internal import TLS

/// Writes HTTP/1.1 requests. Combines head, credential and body in the locked memory of a keyring.
struct HTTP1HeadEncoder: HeadEncoder {
  /// The memory for one TLS record. Zero except during `send`.
  let staging: UnsafeMutableRawBufferPointer

  func send(
    _ request: borrowing OutgoingRequest, with credential: borrowing CredentialParts, body: Span<UInt8>,
    over session: inout VerifiedSession
  ) throws(TLSError) {
    var stage = RecordBuffer(memory: staging)
    defer { stage.wipe() }
    RequestWriter.write(
      request, parameter: Span(_unsafeBytes: credential.parameter), cookie: Span(_unsafeBytes: credential.cookie)
    ) { stage.append($0, over: &session) }
    credential.forEachPart { stage.append($0, over: &session) }
    stage.appendLineBreak(over: &session)
    stage.append(body, over: &session)
    try stage.finish(over: &session)
  }
}
