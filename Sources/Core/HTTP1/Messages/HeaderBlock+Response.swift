// Called for the heads and trailers that arrive in HTTP/2. `HeadReader` reads the text, so that all checks and
// decisions about HTTP/1.1 messages also apply to HTTP/2.

package import Primitives

extension HeaderBlock {
  /// Appends the head of a response as the text of an HTTP/1.1 head (RFC 9113 §8.3.2).
  ///
  /// The reason phrase is the registered one. The text declares the length of the body only if the block does: in HTTP/2,
  /// the end of the stream ends the body. Spaces and tabs around a value are left out. If the block is malformed
  /// (RFC 9113 §8.1.1), `text` stays as it was.
  /// - Parameter switching: the lines to add to a successful response to an extended CONNECT request (RFC 8441 §5). Its text is that
  ///   of a 101 response, and has no `content-length` (RFC 9110 §9.3.6) and no `sec-websocket-accept` of the upstream. `nil` for
  ///   other requests.
  package func writeResponse(switching: [UInt8]? = nil, to text: inout ByteBuffer) throws(MessageError) {
    let kept = text.count
    do throws(MessageError) {
      text.reserve(kept &+ roomNeeded)
      // All other fields must follow, and `check` refuses further pseudo-header fields.
      guard let first = lines.first, isEqual(first.name, ":status") else { throw MessageError(.badPseudoHeader) }
      guard let status = status(first.value) else { throw MessageError(.badPseudoHeader, MessageFault(line: 1)) }
      if let switching, bytes[first.value.lowerBound] == UInt8(ascii: "2") {
        text.append("HTTP/1.1 101 Switching Protocols\r\n")
        text.append(switching.span)
        return try writeFields(from: 1, isTunnel: true, to: &text)
      }
      text.append("HTTP/1.1 ")
      text.append(bytes.span.extracting(first.value))
      text.append(" ")
      // HTTP/2 has none, and some clients look for "200 OK".
      if let phrase = ReasonPhrase.standard(status) { text.append(phrase) }
      text.append("\r\n")
      try writeFields(from: 1, to: &text)
    } catch {
      text.truncate(to: kept)
      throw error
    }
  }

  /// Appends trailers as the text of an HTTP/1.1 trailer section (RFC 9113 §8.1). Spaces and tabs around a value are left
  /// out. If the block is malformed (RFC 9113 §8.1.1), `text` stays as it was.
  package func writeTrailers(to text: inout ByteBuffer) throws(MessageError) {
    let kept = text.count
    do throws(MessageError) {
      text.reserve(kept &+ roomNeeded)
      try writeFields(from: 0, to: &text)
    } catch {
      text.truncate(to: kept)
      throw error
    }
  }

  /// Returns the trailers in this block, without the fields that may not be trailers (RFC 9110 §6.5.1).
  package func trailers(limits: HeadLimits = HeadLimits()) throws(MessageError) -> Trailers {
    var text = ByteBuffer()
    try writeTrailers(to: &text)
    var section = TrailerSection(limits: limits, length: text.count)
    var position = 0
    guard try section.next(text.storage.span.extracting(first: text.count), &position) else {
      throw MessageError(.trailersTooLarge)
    }
    return section.trailers
  }

  private func writeFields(
    from first: Int, isTunnel: Bool = false, to text: inout ByteBuffer
  ) throws(MessageError) {
    let bytes = bytes.span
    var isExact = !isTunnel
    for index in first..<lines.count {
      switch try check(index) {
      // `TE` is allowed only in requests (RFC 9113 §8.2.2).
      case .connection, .te: throw MessageError(.connectionField, fault(at: index))
      case .other, .host, .cookie, .contentLength: break
      }
      let value = lines[index].value
      if !value.isEmpty, Grammar.isBlank(bytes[value.lowerBound]) || Grammar.isBlank(bytes[value.upperBound &- 1]) {
        isExact = false
      }
    }
    if isExact {
      text.append(bytes.extracting(self.text(from: first)))
    } else {
      writeTrimmed(from: first, isTunnel: isTunnel, to: &text)
    }
    FieldWriter.lineEnd(to: &text)
  }

  /// Some servers send blanks around values, and HTTP/1.1 ignores them (RFC 9110 §5.5).
  private func writeTrimmed(from first: Int, isTunnel: Bool, to text: inout ByteBuffer) {
    let bytes = bytes.span
    for line in lines[first...] {
      if isTunnel, isEqual(line.name, "content-length") || isEqual(line.name, "sec-websocket-accept") { continue }
      let value = Grammar.trimmed(line.value, bytes)
      FieldWriter.field(name: bytes.extracting(line.name), value: bytes.extracting(value), to: &text)
    }
  }

  /// Returns the status code. `nil` if the value does not have three digits, is less than 100, or is 101, which HTTP/2 does not have
  /// (RFC 9113 §8.6).
  private func status(_ value: Range<Int>) -> Int? {
    guard value.count == 3 else { return nil }
    let bytes = bytes.span
    var status = 0
    for index in value {
      guard ASCII.isDigit(bytes[index]) else { return nil }
      status = status &* 10 &+ Int(bytes[index] &- Byte.zero)
    }
    return status < 100 || status == 101 ? nil : status
  }
}

// The checks of fields, also for requests.
extension HeaderBlock {
  /// The fields for which HTTP/2 has special rules.
  enum FieldKind {
    case other
    /// A field about an HTTP/1.1 connection (RFC 9113 §8.2.2).
    case connection
    case te, host, cookie, contentLength
  }

  /// Whether the byte may be in the name of a field that is not a pseudo-header field (RFC 9113 §8.2.1).
  @inline(__always)
  package static func isAllowedInName(_ byte: UInt8) -> Bool {
    // Upper-case letters differ from their folded form.
    byte != 0 && Grammar.foldedToken[Int(byte)] == byte
  }

  /// Checks a field that is not a pseudo-header field (RFC 9113 §8.2.1). The value may begin and end with blanks.
  @inline(__always)
  func check(_ index: Int) throws(MessageError) -> FieldKind {
    let line = lines[index]
    let bytes = bytes.span
    guard !line.name.isEmpty else { throw MessageError(.badFieldName, MessageFault(line: index &+ 1)) }
    for position in line.name {
      if !HeaderBlock.isAllowedInName(bytes[position]) {
        let isPseudoHeader = bytes[line.name.lowerBound] == Byte.colon
        throw MessageError(isPseudoHeader ? .badPseudoHeader : .badFieldName, MessageFault(line: index &+ 1))
      }
    }
    guard Scanning.endOfValue(bytes.extracting(line.value), from: 0) == line.value.count else {
      throw MessageError(.badFieldValue, fault(at: index))
    }
    return kind(of: line.name)
  }

  @inline(__always)
  private func kind(of name: Range<Int>) -> FieldKind {
    switch name.count {
    case 2: isEqual(name, "te") ? .te : .other
    case 4: isEqual(name, "host") ? .host : .other
    case 6: isEqual(name, "cookie") ? .cookie : .other
    case 7: isEqual(name, "upgrade") ? .connection : .other
    case 10: isEqual(name, "connection") || isEqual(name, "keep-alive") ? .connection : .other
    case 14: isEqual(name, "content-length") ? .contentLength : .other
    case 16: isEqual(name, "proxy-connection") ? .connection : .other
    case 17: isEqual(name, "transfer-encoding") ? .connection : .other
    default: .other
    }
  }

  /// Whether the bytes equal the text exactly.
  @inline(__always)
  func isEqual(_ range: Range<Int>, _ text: String) -> Bool {
    // For a literal, the compiler knows the length.
    guard range.count == text.utf8.count else { return false }
    let (bytes, text) = (bytes.span, text.utf8.span)
    var index = 0
    while index < text.count {
      if bytes[range.lowerBound &+ index] != text[index] { return false }
      index &+= 1
    }
    return true
  }

  /// The location of a fault in a field with a valid name. The fields of the block are counted from 1.
  func fault(at index: Int) -> MessageFault {
    var fault = MessageFault(line: index &+ 1)
    fault.name = lines[index].name
    return fault
  }
}
