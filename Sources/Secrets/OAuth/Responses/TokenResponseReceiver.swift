internal import HTTP1
package import System

/// Receives the response to one `TokenRequest` into locked memory, which is wiped when this object is released.
package final class TokenResponseReceiver {
  package enum Step: Equatable {
    case needsMore
    case complete
    /// The bytes are not a valid response.
    case malformed(String)
  }

  /// Maximum size of a response head, in bytes.
  private static let longestHead = 16_384
  private static let maxInterimCount = 8

  /// The received bytes of the head, and the first bytes after the head.
  private let headBuffer: LockedMemory
  private var headBufferCount = 0
  /// Offset after the last complete head line in `headBuffer`.
  private var linesEnd = 0
  /// Offset from which the search for the next line end continues.
  private var scanOffset = 0
  /// The cookies of the response, which are removed from its head.
  package let cookies: SetCookieLines
  private let body: LockedMemory
  private var bodyCount = 0

  private var headReader: HeadReader
  private var head = ResponseHead()
  private var interimCount = 0
  private var bodyReader: BodyReader?

  /// Allocates memory for the largest possible response. Throws if this fails.
  package init(mustLock: Bool) throws(SystemError) {
    headBuffer = try LockedMemory(byteCount: Self.longestHead, mustLock: mustLock)
    body = try LockedMemory(byteCount: TokenResponse.longestBody, mustLock: mustLock)
    cookies = try SetCookieLines(byteCount: Self.longestHead, mustLock: mustLock)
    var limits = HeadLimits()
    limits.headBytes = Self.longestHead
    headReader = HeadReader(limits: limits)
  }

  /// Parses received bytes. Must not be called again after it has returned `complete` or `malformed`.
  package func receive(_ bytes: Span<UInt8>) -> Step {
    do throws(MessageError) {
      if bodyReader != nil { return try readBody(bytes) }
      let count = min(bytes.count, Self.longestHead - headBufferCount)
      bytes.extracting(first: count).withUnsafeBytes { bytes in
        UnsafeMutableRawBufferPointer(rebasing: headBuffer.bytes[headBufferCount...]).copyMemory(from: bytes)
      }
      headBufferCount += count
      extractCookies()
      if let problem = try readHeads() { return .malformed(problem) }
      guard bodyReader != nil else { return .needsMore }
      let first = try readBody(bufferedBytes.span)
      return first == .needsMore ? try readBody(bytes.extracting(droppingFirst: count)) : first
    } catch {
      return .malformed("its response is not valid HTTP (\(error.reason.rawValue))")
    }
  }

  /// Handles the end of the connection. `isClean` is `false` without a TLS close_notify.
  package func inputEnded(isClean: Bool) -> Step {
    guard var reader = bodyReader else { return .malformed("it closed the connection before it responded") }
    do throws(MessageError) { try reader.inputEnded() } catch {
      return .malformed("it closed the connection in the middle of its response")
    }
    return isClean ? .complete : .malformed("the connection ended without TLS close_notify, perhaps too early")
  }

  /// Whether the response is a success without a body.
  package var isEmptySuccess: Bool { (200..<300).contains(head.status) && bodyCount == 0 }

  /// Passes the complete response to `read`. The body is valid only during the call.
  package func withResponse<Result: ~Copyable>(_ read: (TokenResponseHead, Span<UInt8>) -> Result) -> Result {
    let bytes = UnsafeBufferPointer(
      start: UnsafePointer(body.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)), count: bodyCount)
    return read(responseHead, bytes.span)
  }

  /// Stores the received body in a new file with mode 0600. Throws EEXIST if the name is taken.
  /// - Parameter path: absolute.
  package func storeBody(at path: String) throws(SystemError) {
    try NewFile.create(path, UnsafeRawBufferPointer(rebasing: body.bytes[..<bodyCount]), mode: 0o600)
  }

  /// Moves the cookies of complete head lines to `cookies`.
  private func extractCookies() {
    while let end = headBuffer.bytes[max(linesEnd, scanOffset)..<headBufferCount].firstIndex(of: 0x0A) {
      let line = UnsafeMutableRawBufferPointer(rebasing: headBuffer.bytes[linesEnd...end])
      linesEnd = end + 1
      if line.count <= 2, line.allSatisfy({ $0 == 0x0D || $0 == 0x0A }) { return }
      cookies.extractCookie(from: line)
    }
    scanOffset = headBufferCount
  }

  /// The bytes that the head parser gets: the complete lines, or all bytes if the buffer is full.
  private var parsableBytes: UnsafeBufferPointer<UInt8> {
    let isFull = headBufferCount == Self.longestHead
    return UnsafeBufferPointer(rebasing: bufferedBytes[..<(isFull ? headBufferCount : linesEnd)])
  }

  private var bufferedBytes: UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(
      start: UnsafePointer(headBuffer.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)), count: headBufferCount)
  }

  /// Parses the buffered heads, and skips interim responses (RFC 9110 section 15.2). Throws for invalid HTTP.
  /// - Returns: the problem with a valid head, such as too many interim responses. `nil` if there is no problem, or if
  ///   the final head is incomplete.
  private func readHeads() throws(MessageError) -> String? {
    while let end = try headReader.readResponse(parsableBytes.span, into: &head) {
      drop(end)
      (linesEnd, scanOffset) = (0, 0)
      guard head.status < 200 else {
        bodyReader = BodyReader(head.bodyLength(respondingTo: .post))
        return nil
      }
      cookies.forget()
      extractCookies()
      interimCount += 1
      if head.status == 101 { return "it switched to another protocol" }
      if interimCount > Self.maxInterimCount { return "it sent too many interim responses" }
    }
    return nil
  }

  private func drop(_ count: Int) {
    let remainingCount = headBufferCount - count
    headBuffer.bytes.copyMemory(from: UnsafeRawBufferPointer(rebasing: headBuffer.bytes[count..<headBufferCount]))
    headBufferCount = remainingCount
  }

  private func readBody(_ bytes: Span<UInt8>) throws(MessageError) -> Step {
    guard var reader = bodyReader.take() else { return .needsMore }
    defer { bodyReader = reader }
    var position = 0
    while true {
      switch try reader.next(bytes, position: &position) {
      case .needsMore: return reader.isComplete ? .complete : .needsMore
      case .end: return .complete
      case .data(let range):
        guard range.count <= TokenResponse.longestBody - bodyCount else {
          return .malformed("its response is larger than 64 KiB, which is too large for a token")
        }
        bytes.extracting(range).withUnsafeBytes { bytes in
          UnsafeMutableRawBufferPointer(rebasing: body.bytes[bodyCount...]).copyMemory(from: bytes)
        }
        bodyCount += range.count
      }
    }
  }

  private var responseHead: TokenResponseHead {
    TokenResponseHead(
      status: head.status, contentType: value("content-type"), contentEncoding: value("content-encoding"),
      retryAfter: value("retry-after"), date: value("date"), location: value("location"))
  }

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
