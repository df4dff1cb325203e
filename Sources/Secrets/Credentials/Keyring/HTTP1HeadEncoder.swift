internal import HTTP1
internal import Policy
internal import TLS

/// Writes HTTP/1.1 requests. Combines head, credential and body in the locked memory of a keyring.
struct HTTP1HeadEncoder: HeadEncoder {
  /// The memory for one TLS record. Zero except during `send`.
  let staging: UnsafeMutableRawBufferPointer

  var applicationProtocol: ApplicationProtocol { .http1 }

  func send(
    _ request: borrowing OutgoingRequest, with credential: borrowing CredentialParts, body: Span<UInt8>,
    over session: inout VerifiedSession
  ) throws(AuthorizationError) {
    var stage = RecordBuffer(memory: staging)
    defer { stage.wipe() }
    RequestWriter.write(
      request, parameter: Span(_unsafeBytes: credential.parameter), cookie: Span(_unsafeBytes: credential.cookie)
    ) { stage.append($0, over: &session) }
    credential.forEachPart { stage.append($0, over: &session) }
    stage.appendLineBreak(over: &session)
    stage.append(body, over: &session)
    do throws(TLSError) { try stage.finish(over: &session) } catch { throw AuthorizationError(error) }
  }
  /// Finds the content of a body that is complete or one chunk.
  func content(of request: borrowing OutgoingRequest, in body: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    switch request.bodyLength {
    case .none, .untilClose: UnsafeRawBufferPointer(rebasing: body[..<0])
    case .length(let count): count == UInt64(body.count) ? body : nil
    case .chunked: onlyChunk(of: body)
    }
  }

  /// Returns the data of a chunked body that has at most one chunk; `nil` for other bodies.
  private func onlyChunk(of body: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    let end = Array("0\r\n\r\n".utf8)
    if body.elementsEqual(end) { return UnsafeRawBufferPointer(rebasing: body[..<0]) }
    guard let lineEnd = body.firstIndex(of: 0x0D),
      let size = Int(String(decoding: body[..<lineEnd], as: UTF8.self), radix: 16), size > 0,
      size <= body.count, lineEnd + 2 + size + 2 + end.count == body.count,
      body[(body.count - end.count)...].elementsEqual(end)
    else { return nil }
    return UnsafeRawBufferPointer(rebasing: body[(lineEnd + 2)..<(lineEnd + 2 + size)])
  }
}
