internal import Policy
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

/// The positions of method and target in a complete head.
struct HeadTarget {
  let method: Range<Int>
  let target: Range<Int>

  /// Returns `nil` if the head does not begin with `METHOD /… HTTP/1.1`.
  init?(_ head: UnsafeRawBufferPointer) {
    let version = Array(" HTTP/1.1\r\n".utf8)
    guard let end = head.firstIndex(of: 0x0D), let blank = head.firstIndex(of: 0x20),
      case let last = end + 2 - version.count, blank + 1 < last, end + 2 <= head.count,
      head[last..<(end + 2)].elementsEqual(version), head[blank + 1] == UInt8(ascii: "/")
    else { return nil }
    method = 0..<blank
    target = (blank + 1)..<last
  }
}

extension Keyring {
  /// Writes the head with the query parameter in its target, then the signature line, the field lines and the body.
  func writePlaced(
    _ head: Span<UInt8>, _ slot: CredentialSlot, _ lines: borrowing Secret, _ jarCookies: CookieLine?,
    _ body: Span<UInt8>,
    now: Int64, to session: inout VerifiedSession
  ) throws(TLSError) {
    let origin = session.proof.identity.origin.description
    try head.withUnsafeBytes { (head) throws(TLSError) in
      try body.withUnsafeBytes { (body) throws(TLSError) in
        try lines.withBytes { (lines) throws(TLSError) in
          guard let staged = HeadTarget(head) else {
            throw TLSError(kind: .internalError, detail: "the staged head has no target that begins with a slash")
          }
          let parts = LineParts(lines, slot.rendered.layout)
          let placed: Placed
          do throws(SystemError) {
            placed = try self.placed(in: head, staged, body, parts, origin, now: now)
          } catch {
            throw TLSError(kind: .internalError, detail: "cannot allocate memory for secrets: \(error)")
          }
          guard placed.signature.count > 0 || parts.client == nil else {
            throw TLSError(kind: .internalError, detail: "the request cannot be signed")
          }
          var stage = RecordBuffer(memory: staging.bytes)
          defer { stage.wipe() }
          try stage.append(UnsafeRawBufferPointer(rebasing: head[..<staged.target.lowerBound]), session: &session)
          try placed.target.withBytes { (bytes) throws(TLSError) in try stage.append(bytes, session: &session) }
          try stage.append(UnsafeRawBufferPointer(rebasing: head[staged.target.upperBound...]), session: &session)
          try placed.signature.withBytes { (bytes) throws(TLSError) in try stage.append(bytes, session: &session) }
          try stage.append(parts.lines, session: &session)
          try stage.append(jarCookies, session: &session)
          try stage.appendLineBreak(session: &session)
          try stage.append(body, session: &session)
          try stage.flush(session: &session)
        }
      }
    }
  }

  private struct Placed: ~Copyable {
    let target: Secret
    /// The signature line; empty if there is none or it cannot be computed.
    let signature: Secret
  }

  private func placed(
    in head: UnsafeRawBufferPointer, _ staged: HeadTarget, _ body: UnsafeRawBufferPointer, _ parts: LineParts,
    _ origin: String, now: Int64
  ) throws(SystemError) -> Placed {
    let target = try target(of: head, staged, parts)
    let signature = try signature(of: head, staged, target, body, parts, origin, now: now)
    return Placed(target: target, signature: signature)
  }

  private func target(
    of head: UnsafeRawBufferPointer, _ staged: HeadTarget, _ parts: LineParts
  ) throws(SystemError) -> Secret {
    let plain = UnsafeRawBufferPointer(rebasing: head[staged.target])
    var target = try Secret(capacity: plain.count + parts.parameter.count + 1, in: reader.arena)
    try target.append(plain)
    guard !parts.parameter.isEmpty else { return target }
    if !plain.contains(UInt8(ascii: "?")) {
      try target.append(UInt8(ascii: "?"))
    } else if plain.last != UInt8(ascii: "?"), plain.last != UInt8(ascii: "&") {
      try target.append(UInt8(ascii: "&"))
    }
    try target.append(parts.parameter)
    return target
  }

  private func signature(
    of head: UnsafeRawBufferPointer, _ staged: HeadTarget, _ target: borrowing Secret, _ body: UnsafeRawBufferPointer,
    _ parts: LineParts, _ origin: String, now: Int64
  ) throws(SystemError) -> Secret {
    guard let client = parts.client, let keys = parts.keys, let form = SignedForm(head, body: body) else {
      return try Secret(capacity: 1, in: reader.arena)
    }
    let signature = OAuth1Signature(client: client, stamp: OAuth1Signature.Stamp(now: now), arena: reader.arena)
    let method = UnsafeRawBufferPointer(rebasing: head[staged.method])
    let line = try target.withBytes { (target) throws(SystemError) in
      try signature.line(method: method, origin: origin, target: target, form: form.bytes, keys: keys)
    }
    guard let line else { return try Secret(capacity: 1, in: reader.arena) }
    return line
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
