internal import Primitives

/// Limits of a head. Bytes and counts; the defaults are the configuration's.
public struct HeadLimits: Sendable, Equatable {
  /// Bytes of the whole head.
  public var headBytes = 65_536
  /// Lines, each for itself.
  public var fields = 128
  /// Bytes of the request-target.
  public var targetBytes = 16_384
  /// The defaults for a request.
  public init() {}

  /// The defaults for a response. Servers send more than clients do: policies, cookies and links.
  public static var ofResponses: HeadLimits {
    var limits = HeadLimits()
    limits.headBytes = 262_144
    limits.fields = 1_024
    return limits
  }
}

/// Reads one head at a time from the start of a message (RFC 9112 §2-6). Restartable at every byte: the caller passes
/// all bytes of the message that came so far, and the same `head`; every byte is looked at once, and the first one that
/// cannot be right is refused as soon as it comes. The reason does not depend on the pieces in which the bytes came.
///
/// After a head the reader is ready for the next message; after an error it is done.
package struct HeadReader: Sendable {
  private let limits: HeadLimits
  private let names = KnownNames.all

  private enum Phase {
    case emptyLines, firstLine, fields
    /// Responses only: `HeadRepair` judges the head, once it is whole.
    case whole
  }
  private var phase = Phase.emptyLines
  /// The bytes of the empty lines before a request. All other positions count from behind them.
  private var skipped = 0
  private var requestLine = RequestLine()
  private var statusLine = StatusLine()
  private var lines = FieldLines(at: 0)
  private var framing = Framing()
  /// The number of the line that is read, from 1, for messages about faults.
  private var line = 1
  /// See `RequestTarget.missing`.
  private var missing: UInt8?
  /// Whether response heads are repaired where that is unambiguous.
  private let repairs: Bool
  private var ending = HeadEnding()

  package init(limits: HeadLimits, repairs: Bool = false) {
    self.limits = limits
    self.repairs = repairs
  }

  /// Empty lines before the request line are skipped and counted, against the limit too (RFC 9112 §2.2).
  ///
  /// - Returns: how many bytes of `input` the head took, or nil when its end has not come yet.
  /// - Parameter head: whole once a count is returned. It keeps its storage from message to message.
  package mutating func readRequest(
    _ input: Span<UInt8>, into head: inout RequestHead
  ) throws(MessageError) -> Int? {
    do throws(MessageError) {
      guard try scanRequest(input.extracting(first: limits.headBytes), &head) else {
        if input.count >= limits.headBytes { throw headTooLarge }
        return nil
      }
    } catch {
      throw error.located(at: line)
    }
    let end = skipped &+ lines.position
    try finish(&head, input.extracting(skipped..<end))
    startOver()
    return end
  }

  /// Reads the head of a response, before which nothing is skipped. 1xx heads are heads like any other.
  ///
  /// `HeadRepair` judges a head that is not clean, once all of the head has come. It repairs the head, or finds the reason and the
  /// place of the fault.
  package mutating func readResponse(
    _ input: Span<UInt8>, into head: inout ResponseHead
  ) throws(MessageError) -> Int? {
    let bytes = input.extracting(first: limits.headBytes)
    if phase != .whole {
      do throws(MessageError) {
        if try scanResponse(bytes, &head) {
          let end = lines.position
          finish(&head, input.extracting(first: end))
          startOver()
          return end
        }
      } catch {
        guard HeadRepair.judges(error.reason) else {
          throw MessageError(error.reason, fault(error.reason, in: bytes, head))
        }
        phase = .whole
      }
    }
    if phase == .whole, let end = ending.find(in: bytes) {
      try readWhole(bytes.extracting(first: end), &head)
      startOver()
      return end
    }
    if input.count >= limits.headBytes { throw headTooLarge }
    return nil
  }

  /// Reads a head that did not come clean.
  private mutating func readWhole(_ bytes: Span<UInt8>, _ head: inout ResponseHead) throws(MessageError) {
    var repair = HeadRepair(isStrict: !repairs, mostFields: limits.fields)
    do throws(MessageError) {
      try repair.run(bytes)
      // The line ends that were added must not make it too large.
      var unlimited = limits
      unlimited.headBytes = .max
      var reader = HeadReader(limits: unlimited)
      // The rules for clean heads hold for it too, whatever was repaired.
      guard try reader.readResponse(repair.clean.span, into: &head) == repair.clean.count else {
        throw MessageError(.badFieldName)
      }
    } catch {
      // Options are counted over several lines.
      throw MessageError(error.reason, error.reason == .tooManyOptions ? MessageFault() : repair.fault)
    }
    head.repairs = repair.repairs
    head.isKeepAlive = false
  }

  /// The place at which reading a clean head has stopped.
  private func fault(_ reason: MessageError.Reason, in bytes: Span<UInt8>, _ head: ResponseHead) -> MessageFault {
    guard phase == .fields else { return MessageFault(line: 1) }
    var (start, name) = (lines.lineStart, lines.currentName)
    if reason.isOfWholeField, let last = head.fields.last { (start, name) = (last.name.lowerBound, last.name) }
    var line = 1
    for index in 0..<Swift.min(start, bytes.count) where bytes[index] == Byte.lineFeed { line &+= 1 }
    var fault = MessageFault(line: line)
    fault.name = name
    return fault
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
      line = 2
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
          guard head.fields.count < limits.fields else { throw tooManyFields }
          if head.fields.capacity == 0 { head.fields.reserveCapacity(ordinaryFields) }
          head.fields.append(field)
          try framing.readRequestField(field, of: bytes, version)
          line &+= 1
        }
      }

    case .whole: return false
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

    case .whole: return false
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
    head.repairs = .none
    head.declaredLength = framing.declaredLength ?? .untilClose
    head.isKeepAlive = framing.isKeepAlive(head.version) && head.hasClearEnd
    head.hasConnectionOptions = framing.hasOptions
    head.bytes.replaceAll(with: bytes)
  }

  private var headTooLarge: MessageError {
    MessageError(.headTooLarge, MessageFault(limit: MessageLimit(.head, limits.headBytes)))
  }

  private var tooManyFields: MessageError {
    MessageError(.tooManyFields, MessageFault(limit: MessageLimit(.fields, limits.fields)))
  }

  private mutating func startOver() {
    phase = .emptyLines
    skipped = 0
    line = 1
    requestLine = RequestLine()
    statusLine = StatusLine()
    framing = Framing()
    ending = HeadEnding()
  }
}

/// So many find room without growing by and by.
private let ordinaryFields = 16
