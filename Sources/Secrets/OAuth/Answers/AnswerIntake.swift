internal import HTTP1
package import System

/// Reads the one answer to a `TokenRequest`, framing included, into locked memory that is wiped with it. Strict as the readers of
/// every upstream's answer are; bounded; nothing counts that comes behind the answer.
package final class AnswerIntake {
  package enum Step: Equatable {
    case needsMore
    /// `withAnswer` has it.
    case complete
    /// The bytes cannot be an answer: why, without one of them.
    case malformed(String)
  }

  /// The most bytes of a head.
  private static let longestHead = 16_384
  private static let mostInterim = 8

  /// The bytes of the head so far, and first those behind it.
  private let start: LockedMemory
  private var startCount = 0
  /// How much of it is whole lines of a head, so that nothing of a cookie is left in them.
  private var lineCount = 0
  /// The place from which the end of the next line is looked for: what stands before it has none.
  private var scannedCount = 0
  /// Cookies that came with the answer, apart from its head.
  package let cookies: SetCookieLines
  private let body: LockedMemory
  private var bodyCount = 0

  private var headReader: HeadReader
  private var head = ResponseHead()
  private var interim = 0
  private var bodyReader: BodyReader?

  /// ENOMEM, or what `LockedMemory` says.
  package init(mustLock: Bool) throws(SystemError) {
    start = try LockedMemory(byteCount: Self.longestHead, mustLock: mustLock)
    body = try LockedMemory(byteCount: TokenAnswer.longestBody, mustLock: mustLock)
    cookies = try SetCookieLines(byteCount: Self.longestHead, mustLock: mustLock)
    var limits = HeadLimits()
    limits.headBytes = Self.longestHead
    headReader = HeadReader(limits: limits)
  }

  /// Not to be called again once it has returned anything but `needsMore`.
  package func take(_ bytes: Span<UInt8>) -> Step {
    do throws(MessageError) {
      if bodyReader != nil { return try takeBody(bytes) }
      let count = min(bytes.count, Self.longestHead - startCount)
      bytes.extracting(first: count).withUnsafeBytes { bytes in
        UnsafeMutableRawBufferPointer(rebasing: start.bytes[startCount...]).copyMemory(from: bytes)
      }
      startCount += count
      readLines()
      if let problem = try readHeads() { return .malformed(problem) }
      guard bodyReader != nil else { return .needsMore }
      let first = try takeBody(started.span)
      return first == .needsMore ? try takeBody(bytes.extracting(droppingFirst: count)) : first
    } catch {
      return .malformed("its response is not valid HTTP (\(error.reason.rawValue))")
    }
  }

  /// Nothing more comes. Without TLS's own word for it, what came may not be all.
  package func inputEnded(isClean: Bool) -> Step {
    guard var reader = bodyReader else { return .malformed("it closed the connection before it responded") }
    do throws(MessageError) { try reader.inputEnded() } catch {
      return .malformed("it closed the connection in the middle of its response")
    }
    return isClean ? .complete : .malformed("the connection ended without TLS close_notify, perhaps too early")
  }

  /// Once it is complete. The body is borrowed for the call.
  package func withAnswer<Result: ~Copyable>(_ read: (AnswerHead, Span<UInt8>) -> Result) -> Result {
    let bytes = UnsafeBufferPointer(
      start: UnsafePointer(body.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)), count: bodyCount)
    return read(answerHead, bytes.span)
  }

  /// Cookies leave the lines of the head that are whole; what is behind it stays as it is.
  private func readLines() {
    while let end = start.bytes[max(lineCount, scannedCount)..<startCount].firstIndex(of: 0x0A) {
      let line = UnsafeMutableRawBufferPointer(rebasing: start.bytes[lineCount...end])
      lineCount = end + 1
      if line.count <= 2, line.allSatisfy({ $0 == 0x0D || $0 == 0x0A }) { return }
      cookies.take(line)
    }
    scannedCount = startCount
  }

  /// The whole lines of the head that came, so that an incomplete line is not judged; everything, if there is room for no more.
  private var lines: UnsafeBufferPointer<UInt8> {
    let isFull = startCount == Self.longestHead
    return UnsafeBufferPointer(rebasing: started[..<(isFull ? startCount : lineCount)])
  }

  private var started: UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(
      start: UnsafePointer(start.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)), count: startCount)
  }

  /// Interim ones are passed over (RFC 9110 section 15.2). What is behind the last one stays in `start`.
  /// - Returns: what is wrong.
  private func readHeads() throws(MessageError) -> String? {
    while let end = try headReader.readResponse(lines.span, into: &head) {
      drop(end)
      (lineCount, scannedCount) = (0, 0)
      guard head.status < 200 else {
        bodyReader = BodyReader(head.bodyLength(answering: .post))
        return nil
      }
      cookies.forget()
      readLines()
      interim += 1
      if head.status == 101 { return "it switched to another protocol" }
      if interim > Self.mostInterim { return "it sent too many interim responses" }
    }
    return nil
  }

  /// The first bytes of `start`; what is behind them comes to the front.
  private func drop(_ count: Int) {
    let rest = startCount - count
    start.bytes.copyMemory(from: UnsafeRawBufferPointer(rebasing: start.bytes[count..<startCount]))
    startCount = rest
  }

  private func takeBody(_ bytes: Span<UInt8>) throws(MessageError) -> Step {
    guard var reader = bodyReader.take() else { return .needsMore }
    defer { bodyReader = reader }
    var position = 0
    while true {
      switch try reader.next(bytes, position: &position) {
      case .needsMore: return reader.isComplete ? .complete : .needsMore
      case .end: return .complete
      case .data(let range):
        guard range.count <= TokenAnswer.longestBody - bodyCount else {
          return .malformed("its response is larger than 64 KiB, which is too large for a token")
        }
        bytes.extracting(range).withUnsafeBytes { bytes in
          UnsafeMutableRawBufferPointer(rebasing: body.bytes[bodyCount...]).copyMemory(from: bytes)
        }
        bodyCount += range.count
      }
    }
  }

  private var answerHead: AnswerHead {
    AnswerHead(
      status: head.status, contentType: value("content-type"), contentEncoding: value("content-encoding"),
      retryAfter: value("retry-after"), date: value("date"))
  }

  /// The values of all lines of this name, joined; nil: there is no such line.
  private func value(_ name: String) -> String? {
    var values: [String] = []
    for field in head.fields {
      let bytes = head.bytes.span
      if FieldName.matches(field.name, of: bytes, name) {
        values.append(String(decoding: head.bytes[field.value], as: UTF8.self))
      }
    }
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }
}
