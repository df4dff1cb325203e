internal import Primitives

/// Limits of a head. Bytes and counts; the defaults are the configuration's.
public struct HeadLimits: Sendable, Equatable {
  /// Bytes of the whole head.
  public var headBytes = 65_536
  /// Lines, each for itself.
  public var fields = 128
  /// Bytes of the request-target.
  public var targetBytes = 16_384
  /// The defaults.
  public init() {}
}

/// Reads one head at a time from the start of a message (RFC 9112 §2-6). Restartable at every byte: the caller passes
/// all bytes of the message that came so far, and the same `head`; every byte is looked at once, and the first one that
/// cannot be right is refused as soon as it comes. The reason does not depend on the pieces in which the bytes came.
///
/// After a head the reader is ready for the next message; after an error it is done.
package struct HeadReader: Sendable {
  private let limits: HeadLimits
  private let names = KnownNames.all

  private enum Phase { case emptyLines, firstLine, fields }
  private var phase = Phase.emptyLines
  /// The bytes of the empty lines before a request. All other positions count from behind them.
  private var skipped = 0
  private var requestLine = RequestLine()
  private var statusLine = StatusLine()
  private var lines = FieldLines(at: 0)
  private var framing = Framing()
  /// See `RequestTarget.missing`.
  private var missing: UInt8?

  package init(limits: HeadLimits) { self.limits = limits }

  /// Empty lines before the request line are skipped and counted, against the limit too (RFC 9112 §2.2).
  ///
  /// - Returns: how many bytes of `input` the head took, or nil when its end has not come yet.
  /// - Parameter head: whole once a count is returned. It keeps its storage from message to message.
  package mutating func readRequest(
    _ input: Span<UInt8>, into head: inout RequestHead
  ) throws(MessageError) -> Int? {
    guard try scanRequest(input.extracting(first: limits.headBytes), &head) else {
      if input.count >= limits.headBytes { throw MessageError(.headTooLarge) }
      return nil
    }
    let end = skipped &+ lines.position
    try finish(&head, input.extracting(skipped..<end))
    startOver()
    return end
  }

  /// Reads the head of a response, before which nothing is skipped. 1xx heads are heads like any other.
  package mutating func readResponse(
    _ input: Span<UInt8>, into head: inout ResponseHead
  ) throws(MessageError) -> Int? {
    guard try scanResponse(input.extracting(first: limits.headBytes), &head) else {
      if input.count >= limits.headBytes { throw MessageError(.headTooLarge) }
      return nil
    }
    let end = lines.position
    finish(&head, input.extracting(first: end))
    startOver()
    return end
  }

  /// - Returns: whether the head has ended.
  private mutating func scanRequest(_ input: Span<UInt8>, _ head: inout RequestHead) throws(MessageError) -> Bool {
    switch phase {
    case .emptyLines:
      guard try skipEmptyLines(input) else { return false }
      if !head.fields.isEmpty { head.fields.removeAll(keepingCapacity: true) }
      phase = .firstLine
      fallthrough

    case .firstLine:
      let bytes = input.extracting(droppingFirst: skipped)
      guard let end = try requestLine.scan(bytes, targetLimit: limits.targetBytes) else { return false }
      let target = try RequestTarget(requestLine.target, of: bytes, requestLine.method)
      head.method = requestLine.method
      head.methodRange = requestLine.methodRange
      head.target = target.origin
      head.absoluteAuthority = target.authority
      missing = target.missing
      head.version = requestLine.version
      lines = FieldLines(at: end)
      phase = .fields
      fallthrough

    case .fields:
      let bytes = input.extracting(droppingFirst: skipped)
      let version = requestLine.version
      while true {
        switch try lines.next(bytes, names) {
        case .needsMore: return false
        case .end: return true
        case .field(let field):
          guard head.fields.count < limits.fields else { throw MessageError(.tooManyFields) }
          if head.fields.capacity == 0 { head.fields.reserveCapacity(ordinaryFields) }
          head.fields.append(field)
          try framing.readRequestField(field, of: bytes, version)
        }
      }
    }
  }

  private mutating func scanResponse(_ bytes: Span<UInt8>, _ head: inout ResponseHead) throws(MessageError) -> Bool {
    switch phase {
    case .emptyLines:
      if !head.fields.isEmpty { head.fields.removeAll(keepingCapacity: true) }
      phase = .firstLine
      fallthrough

    case .firstLine:
      guard let end = try statusLine.scan(bytes) else { return false }
      head.status = statusLine.status
      head.reason = statusLine.reason
      head.version = statusLine.version
      lines = FieldLines(at: end)
      phase = .fields
      fallthrough

    case .fields:
      let version = statusLine.version
      while true {
        switch try lines.next(bytes, names) {
        case .needsMore: return false
        case .end: return true
        case .field(let field):
          guard head.fields.count < limits.fields else { throw MessageError(.tooManyFields) }
          if head.fields.capacity == 0 { head.fields.reserveCapacity(ordinaryFields) }
          head.fields.append(field)
          try framing.readResponseField(field, of: bytes, version)
        }
      }
    }
  }

  /// - Returns: false when it is not known yet whether another empty line comes.
  private mutating func skipEmptyLines(_ bytes: Span<UInt8>) throws(MessageError) -> Bool {
    while skipped < bytes.count {
      if bytes[skipped] == Byte.lineFeed { throw MessageError(.bareLineFeed) }
      guard bytes[skipped] == Byte.carriageReturn else { return true }
      guard skipped &+ 1 < bytes.count else { return false }
      guard bytes[skipped &+ 1] == Byte.lineFeed else { throw MessageError(.bareCarriageReturn) }
      skipped &+= 2
    }
    return false
  }

  private func finish(_ head: inout RequestHead, _ bytes: Span<UInt8>) throws(MessageError) {
    guard framing.host != nil || head.version == .http10 else { throw MessageError(.missingHost) }
    head.host = framing.host
    head.bodyLength = framing.declaredLength ?? .none
    head.isKeepAlive = framing.isKeepAlive(head.version)
    head.hasConnectionOptions = framing.hasOptions
    head.expectsContinue = framing.expectsContinue
    head.bytes.replaceAll(with: bytes)
    if let missing {
      let start = head.bytes.count
      head.bytes.append(missing)
      head.bytes.append(bytes.extracting(head.target))
      head.target = start..<head.bytes.count
    }
  }

  private func finish(_ head: inout ResponseHead, _ bytes: Span<UInt8>) {
    head.declaredLength = framing.declaredLength ?? .untilClose
    head.isKeepAlive = framing.isKeepAlive(head.version) && head.hasClearEnd
    head.hasConnectionOptions = framing.hasOptions
    head.bytes.replaceAll(with: bytes)
  }

  private mutating func startOver() {
    phase = .emptyLines
    skipped = 0
    requestLine = RequestLine()
    statusLine = StatusLine()
    framing = Framing()
  }
}

/// So many find room without growing by and by.
private let ordinaryFields = 16
