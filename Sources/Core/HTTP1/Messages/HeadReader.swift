// Called by `HTTP1ClientEdge`, `HTTP1UpstreamEdge` and `HTTP2UpstreamEdge`, and for the responses of token endpoints.
// Calls `RequestLine`, `StatusLine`, `FieldLines` and `Framing`.

internal import Primitives

/// Limits for the head of a message. The default values are for requests.
public struct HeadLimits: Sendable, Equatable {
  /// Maximum size of the head in bytes.
  public var headBytes = 65_536
  /// Maximum number of field lines in a head.
  public var fields = 128
  /// Maximum size of the request-target in bytes.
  public var targetBytes = 16_384
  /// Creates the default limits for requests.
  public init() {}

  /// The default limits for a response.
  public static var forResponses: HeadLimits {
    var limits = HeadLimits()
    limits.headBytes = 262_144
    limits.fields = 1_024
    return limits
  }
}

/// Parses the head of a message as it arrives (RFC 9112 §2-6). Each call needs all bytes received so far, and the
/// same `head`. Do not use a reader again after an error.
package struct HeadReader: Sendable {
  private let limits: HeadLimits
  private let names = KnownNames.all

  private enum Phase {
    case emptyLines, firstLine, fields
    /// Waits for the end of an invalid response head.
    case repair
  }
  private var phase = Phase.emptyLines
  /// Size of the empty lines before a request, in bytes.
  private var skipped = 0
  private var requestLine = RequestLine()
  private var statusLine = StatusLine()
  private var lines = FieldLines(at: 0)
  private var framing = Framing()
  private var line = 1
  /// `RequestTarget.impliedByte` of the current request.
  private var impliedByte: UInt8?
  private let repairs: Bool
  private var ending = HeadEnding()

  package init(limits: HeadLimits, repairs: Bool = false) {
    self.limits = limits
    self.repairs = repairs
  }

  /// Parses the head of a request. Skips empty lines before it (RFC 9112 §2.2).
  /// - Returns: The size of the head in `input`, or `nil` if the head is incomplete.
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
    reset()
    return end
  }

  /// Parses the head of a response, and repairs an invalid head if possible.
  /// - Returns: The size of the head in `input`, or `nil` if the head is incomplete.
  package mutating func readResponse(
    _ input: Span<UInt8>, into head: inout ResponseHead
  ) throws(MessageError) -> Int? {
    let bytes = input.extracting(first: limits.headBytes)
    if phase != .repair {
      do throws(MessageError) {
        if try scanResponse(bytes, &head) {
          let end = lines.position
          finish(&head, input.extracting(first: end))
          reset()
          return end
        }
      } catch {
        guard HeadRepair.accepts(error.reason) else {
          throw MessageError(error.reason, fault(error.reason, in: bytes, head))
        }
        phase = .repair
      }
    }
    if phase == .repair, let end = ending.find(in: bytes) {
      try repairHead(bytes.extracting(first: end), &head)
      reset()
      return end
    }
    if input.count >= limits.headBytes { throw headTooLarge }
    return nil
  }

  /// Repairs an invalid response head, and parses the repaired head.
  private mutating func repairHead(_ bytes: Span<UInt8>, _ head: inout ResponseHead) throws(MessageError) {
    var repair = HeadRepair(isStrict: !repairs, maximumFields: limits.fields)
    do throws(MessageError) {
      try repair.run(bytes)
      // Line ends that the repair added must not make the head too large.
      var unlimited = limits
      unlimited.headBytes = .max
      var reader = HeadReader(limits: unlimited)
      // The repaired head must also follow all rules.
      guard try reader.readResponse(repair.clean.span, into: &head) == repair.clean.count else {
        throw MessageError(.badFieldName)
      }
    } catch {
      // Options are counted over several lines, so there is no single faulty line.
      throw MessageError(error.reason, error.reason == .tooManyOptions ? MessageFault() : repair.fault)
    }
    head.repairs = repair.repairs
    head.isKeepAlive = false
  }

  /// Returns the line and the field at which the parser found the fault in a response head.
  private func fault(_ reason: MessageError.Reason, in bytes: Span<UInt8>, _ head: ResponseHead) -> MessageFault {
    guard phase == .fields else { return MessageFault(line: 1) }
    var (start, name) = (lines.lineStart, lines.currentName)
    if reason.isDetectedAtLineEnd, let last = head.fields.last { (start, name) = (last.name.lowerBound, last.name) }
    var line = 1
    for index in 0..<Swift.min(start, bytes.count) where bytes[index] == Byte.lineFeed { line &+= 1 }
    var fault = MessageFault(line: line)
    fault.name = name
    return fault
  }

  /// Parses as much of a request head as has arrived. Returns `true` once the head is complete.
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
      impliedByte = target.impliedByte
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
          if head.fields.capacity == 0 { head.fields.reserveCapacity(initialFieldCapacity) }
          head.fields.append(field)
          try framing.readRequestField(field, of: bytes, version)
          line &+= 1
        }
      }

    case .repair: return false
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
          if head.fields.capacity == 0 { head.fields.reserveCapacity(initialFieldCapacity) }
          head.fields.append(field)
          try framing.readResponseField(field, of: bytes, version)
        }
      }

    case .repair: return false
    }
  }

  /// Skips empty lines before a request. Returns `false` if more input is needed.
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
    head.hasAuthorization = framing.hasAuthorization
    head.bytes.replaceAll(with: bytes)
    if let impliedByte {
      let start = head.bytes.count
      head.bytes.append(impliedByte)
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

  @inline(__always)
  private mutating func reset() {
    phase = .emptyLines
    skipped = 0
    line = 1
    requestLine = RequestLine()
    statusLine = StatusLine()
    framing = Framing()
    ending = HeadEnding()
  }
}

private let initialFieldCapacity = 16
