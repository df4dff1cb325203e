internal import HTTP1
internal import Policy
internal import Primitives
@_spi(SecretBytes) internal import Secrets
internal import Settings
internal import System
internal import TLS

/// The sizes of the parts of `CredentialSlot.lines`: an optional query parameter, optional signature keys, and header
/// fields.
struct LineLayout: Sendable, Equatable {
  /// Number of bytes of the query parameter; 0 if there is none.
  var parameter = 0
  /// Sizes in bytes of the signature's keys: consumer key, consumer secret, token, token secret.
  var keys: [Int] = []
  var client: OAuth1Client?

  var isPlain: Bool { parameter == 0 && keys.isEmpty }
}

extension Keyring {
  /// Sends a request with a credential that has a query parameter or a signature.
  func sendPlaced<Encoder: HeadEncoder>(
    _ request: borrowing OutgoingRequest, _ slot: CredentialSlot, _ lines: borrowing Secret, _ jar: CookieLine?,
    _ body: Span<UInt8>, now: Int64, with encoder: Encoder, over session: inout VerifiedSession
  ) throws(AuthorizationError) -> Encoder.Sent {
    try lines.withBytes { (lines) throws(AuthorizationError) in
      let parts = LineParts(lines, slot.rendered.layout)
      let signature: Secret
      do throws(SystemError) {
        signature = try self.signature(
          of: request, body, parts, session.proof.identity.origin.description, now: now, for: encoder)
      } catch {
        throw AuthorizationError(
          TLSError(kind: .internalError, detail: "cannot allocate memory for secrets: \(error)"))
      }
      guard signature.count > 0 || parts.client == nil else {
        throw AuthorizationError(TLSError(kind: .internalError, detail: "the request cannot be signed"))
      }
      return try signature.withBytes { (signature) throws(AuthorizationError) in
        try encoder.send(
          request,
          with: CredentialParts(lines: parts.lines, parameter: parts.parameter, signature: signature, jar: jar),
          body: body, over: &session)
      }
    }
  }

  /// Returns the signature line; empty if there is none or it cannot be computed.
  private func signature(
    of request: borrowing OutgoingRequest, _ body: Span<UInt8>, _ parts: LineParts, _ origin: String, now: Int64,
    for encoder: some HeadEncoder
  ) throws(SystemError) -> Secret {
    guard let client = parts.client, let keys = parts.keys else { return try Secret(capacity: 1, in: reader.arena) }
    let target = try request.target(adding: parts.parameter, in: reader.arena)
    let signature = OAuth1Signature(client: client, stamp: OAuth1Signature.Stamp(now: now), arena: reader.arena)
    let line = try body.withUnsafeBytes { (body) throws(SystemError) -> Secret? in
      guard let form = SignedForm(request, body: body, for: encoder) else { return nil }
      return try request.line.storage.span.withUnsafeBytes { (bytes) throws(SystemError) in
        let method = UnsafeRawBufferPointer(rebasing: bytes[request.method])
        return try target.withBytes { (target) throws(SystemError) in
          try signature.line(method: method, origin: origin, target: target, form: form.bytes, keys: keys)
        }
      }
    }
    guard let line else { return try Secret(capacity: 1, in: reader.arena) }
    return line
  }
}

extension OutgoingRequest {
  /// Returns the target with a credential's query parameter.
  func target(
    adding parameter: UnsafeRawBufferPointer, in arena: SecretArena
  ) throws(SystemError) -> Secret {
    var target = try Secret(capacity: self.target.count + parameter.count + 1, in: arena)
    try line.storage.span.withUnsafeBytes { (bytes) throws(SystemError) in
      try target.append(UnsafeRawBufferPointer(rebasing: bytes[self.target]))
    }
    guard !parameter.isEmpty else { return target }
    try target.append(parameterSeparator)
    try target.append(parameter)
    return target
  }
}

private struct LineParts {
  let parameter: UnsafeRawBufferPointer
  let keys: OAuth1Signature.Keys?
  let client: OAuth1Client?
  let lines: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer, _ layout: LineLayout) {
    var start = 0
    func next(_ count: Int) -> UnsafeRawBufferPointer {
      defer { start += count }
      return UnsafeRawBufferPointer(rebasing: bytes[start..<min(bytes.count, start + count)])
    }
    parameter = next(layout.parameter)
    keys =
      layout.keys.count != 4
      ? nil
      : OAuth1Signature.Keys(
        consumer: next(layout.keys[0]), consumerSecret: next(layout.keys[1]), token: next(layout.keys[2]),
        tokenSecret: next(layout.keys[3]))
    client = layout.client
    lines = next(bytes.count - start)
  }
}
