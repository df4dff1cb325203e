package import Primitives

extension HeaderBlock {
  /// Appends the head of a request as the text of an HTTP/1.1 head, for `HeadReader` (RFC 9113 §8.3.1).
  ///
  /// | HTTP/2 | text |
  /// |---|---|
  /// | `:method`, `:path` | the request line |
  /// | `:scheme: https` | a target in absolute form, so that admission refuses it as in HTTP/1.1 |
  /// | `:authority`, or else `host` | the `host` field |
  /// | `:authority` with the escaped path of a Unix socket, such as `run%2Fbearerd.sock` | `host: localhost`, if `isLocalSocket` |
  /// | several `cookie` fields | one field (RFC 9113 §8.2.3) |
  /// | a body without `content-length` | `transfer-encoding: chunked`, although the body has no chunks |
  /// | CONNECT with `:protocol` (RFC 8441) | GET with `upgrade`, and without a body: the stream is the tunnel |
  /// | CONNECT with `:protocol: websocket` | also `sec-websocket-key`, which HTTP/2 does not have |
  ///
  /// If the block is malformed (RFC 9113 §8.1.1), `text` stays as it was.
  /// - Parameters:
  ///   - hasBody: whether data can follow, because the head does not end the stream.
  ///   - isLocalSocket: whether the client is connected to a Unix socket. The C library of gRPC then sends its path as `:authority`.
  package func writeRequest(
    hasBody: Bool, isLocalSocket: Bool = false, to text: inout ByteBuffer
  ) throws(MessageError) {
    let kept = text.count
    do throws(MessageError) {
      text.reserve(kept &+ roomNeeded)
      let start = try RequestStart(self, isLocalSocket: isLocalSocket)
      try write(start, to: &text)
      let hasLength = try writeFields(after: start, to: &text)
      if hasBody, !hasLength, !start.isConnect { text.append("transfer-encoding: chunked\r\n") }
      FieldWriter.lineEnd(to: &text)
    } catch {
      text.truncate(to: kept)
      throw error
    }
  }

  /// Why the block is not the head of a request. `nil` if it is.
  package var requestError: MessageError? {
    var text = ByteBuffer()
    // The text may have tokens (T50).
    defer { text.wipe() }
    do throws(MessageError) { try writeRequest(hasBody: true, to: &text) } catch { return error }
    return nil
  }

  /// The key of every WebSocket. It only proves to a client that it does not speak to a cache, or to a server of another
  /// protocol (RFC 6455 section 1.3), so it need not be secret.
  private static let webSocketKey = "YmVhcmVyZCBIVFRQLzIgIQ=="

  private func hasField(_ name: String) -> Bool { lines.contains { isEqual($0.name, name) } }

  /// Whether the block is the head of a request with this method.
  package func hasMethod(_ method: String) -> Bool {
    for line in lines {
      // Pseudo-header fields come first, or else the block is malformed.
      guard !line.name.isEmpty, bytes[line.name.lowerBound] == Byte.colon else { return false }
      if isEqual(line.name, ":method") { return isEqual(line.value, method) }
    }
    return false
  }

  /// Appends the request line, `host`, and the fields for the protocol of an extended CONNECT request.
  private func write(_ start: RequestStart, to text: inout ByteBuffer) throws(MessageError) {
    let bytes = bytes.span
    if start.upgrade == nil {
      text.append(bytes.extracting(start.method))
      text.append(Byte.space)
    } else {
      text.append("GET ")
    }
    if let path = start.path {
      let isAsterisk = isEqual(path, "*")
      if start.isHTTPS {
        text.append("https://")
        writeHost(of: start, to: &text)
      }
      // In absolute form, the target of `OPTIONS *` has no path (RFC 9112 §3.2.4).
      if !start.isHTTPS || !isAsterisk { text.append(bytes.extracting(path)) }
    } else {
      writeHost(of: start, to: &text)
    }
    text.append(" HTTP/1.1\r\nhost: ")
    writeHost(of: start, to: &text)
    FieldWriter.lineEnd(to: &text)
    if let upgrade = start.upgrade {
      text.append("connection: upgrade\r\nupgrade: ")
      text.append(bytes.extracting(upgrade))
      FieldWriter.lineEnd(to: &text)
      if FieldName.matches(upgrade, of: bytes, "websocket"), !hasField("sec-websocket-key") {
        text.append("sec-websocket-key: \(HeaderBlock.webSocketKey)\r\n")
      }
    }
  }

  private func writeHost(of start: RequestStart, to text: inout ByteBuffer) {
    if start.isSocketPath { text.append("localhost") } else { text.append(bytes.span.extracting(start.host)) }
  }

  /// Appends the fields other than `host`. Returns whether one of them is `content-length`.
  private func writeFields(after start: RequestStart, to text: inout ByteBuffer) throws(MessageError) -> Bool {
    let bytes = bytes.span
    var (hasHost, hasCookie, hasLength) = (false, false, false)
    for index in start.count..<lines.count {
      let kind = try check(index)
      let line = lines[index]
      guard
        line.value.isEmpty
          || !Grammar.isBlank(bytes[line.value.lowerBound]) && !Grammar.isBlank(bytes[line.value.upperBound &- 1])
      else { throw MessageError(.badFieldValue, fault(at: index)) }
      switch kind {
      case .other: break
      case .connection: throw MessageError(.connectionField, fault(at: index))
      case .te:
        guard FieldName.matches(line.value, of: bytes, "trailers") else {
          throw MessageError(.connectionField, fault(at: index))
        }
      case .host:
        guard !hasHost else { throw MessageError(.duplicateHost, fault(at: index)) }
        hasHost = true
        guard isSameAuthority(line.value, start) else { throw MessageError(.hostMismatch, fault(at: index)) }
        continue
      case .cookie:
        if !hasCookie { writeCookies(from: index, to: &text) }
        hasCookie = true
        continue
      case .contentLength:
        // CONNECT has no body (RFC 9110 §9.3.6).
        if start.isConnect { continue }
        hasLength = true
      }
      FieldWriter.field(name: bytes.extracting(line.name), value: bytes.extracting(line.value), to: &text)
    }
    return hasLength
  }

  /// Appends all cookies in one field (RFC 9113 §8.2.3).
  private func writeCookies(from first: Int, to text: inout ByteBuffer) {
    let bytes = bytes.span
    text.append("cookie: ")
    text.append(bytes.extracting(lines[first].value))
    for line in lines[(first &+ 1)...] where isEqual(line.name, "cookie") {
      text.append("; ")
      text.append(bytes.extracting(line.value))
    }
    FieldWriter.lineEnd(to: &text)
  }

  private func isSameAuthority(_ one: Range<Int>, _ start: RequestStart) -> Bool {
    let (bytes, other) = (bytes.span, start.host)
    if start.isSocketPath { return FieldName.matches(one, of: bytes, "localhost") }
    guard one.count == other.count else { return false }
    var index = 0
    while index < one.count {
      if ASCII.lowercased(bytes[one.lowerBound &+ index]) != ASCII.lowercased(bytes[other.lowerBound &+ index]) {
        return false
      }
      index &+= 1
    }
    return true
  }
}

/// The checked pseudo-header fields of a request (RFC 9113 §8.3.1, RFC 8441 §4), as ranges into the bytes of its block.
private struct RequestStart {
  let method: Range<Int>
  /// `nil` only for CONNECT without a protocol.
  let path: Range<Int>?
  /// The value of `:authority`, or else of `host`.
  let host: Range<Int>
  /// Whether `host` is the escaped path of a Unix socket.
  let isSocketPath: Bool
  /// The protocol of an extended CONNECT request; `nil` for other requests.
  let upgrade: Range<Int>?
  let isConnect: Bool
  let isHTTPS: Bool
  /// Number of the pseudo-header fields.
  let count: Int

  init(_ block: borrowing HeaderBlock, isLocalSocket: Bool) throws(MessageError) {
    let fields = try PseudoHeaders(block)
    let bytes = block.bytes.span
    guard let method = fields.method else { throw MessageError(.badPseudoHeader) }
    guard !method.isEmpty, Self.isToken(bytes.extracting(method)) else { throw MessageError(.badMethod) }
    let isConnect = Method(bytes.extracting(method)) == .connect
    // Only CONNECT can have a protocol, and only with a protocol has CONNECT a scheme and a path.
    guard isConnect || fields.upgrade == nil, (fields.scheme != nil) == (fields.path != nil),
      (fields.path == nil) == (isConnect && fields.upgrade == nil)
    else { throw MessageError(.badPseudoHeader) }
    if isConnect, fields.authority == nil { throw MessageError(.badPseudoHeader) }
    if let upgrade = fields.upgrade {
      guard !upgrade.isEmpty, Self.isToken(bytes.extracting(upgrade)) else { throw MessageError(.badPseudoHeader) }
    }
    guard let host = fields.authority ?? Self.host(of: block, after: fields.count) else {
      throw MessageError(.missingHost)
    }
    let isValid = Authority.isValid(bytes.extracting(host))
    isSocketPath = !isValid && isLocalSocket && fields.authority != nil && Self.isSocketPath(bytes.extracting(host))
    guard isValid || isSocketPath else { throw MessageError(.badHost) }
    if let scheme = fields.scheme { isHTTPS = try Self.isHTTPS(scheme, of: bytes) } else { isHTTPS = false }
    if let path = fields.path {
      try Self.checkPath(bytes.extracting(path), isOptions: block.isEqual(method, "OPTIONS"))
    }
    (self.method, path, self.host, upgrade) = (method, fields.path, host, fields.upgrade)
    (self.isConnect, count) = (isConnect, fields.count)
  }

  /// Checks that the path begins with `/`, or is `*` in an OPTIONS request, and has no character that ends the target.
  private static func checkPath(_ path: Span<UInt8>, isOptions: Bool) throws(MessageError) {
    let end = Scanning.endOfTarget(path, from: 0)
    if end < path.count {
      if path[end] == UInt8(ascii: "#") { throw MessageError(.fragmentInTarget) }
      let character = TargetCharacter(path[end], at: end &+ 1)
      throw MessageError(.forbiddenInTarget, MessageFault(character: character))
    }
    guard !path.isEmpty, path[0] == Byte.slash || path.count == 1 && path[0] == UInt8(ascii: "*") && isOptions else {
      throw MessageError(.badTarget)
    }
  }

  private static func isHTTPS(_ scheme: Range<Int>, of bytes: Span<UInt8>) throws(MessageError) -> Bool {
    if FieldName.matches(scheme, of: bytes, "http") { return false }
    guard FieldName.matches(scheme, of: bytes, "https") else { throw MessageError(.badTarget) }
    return true
  }

  private static func host(of block: borrowing HeaderBlock, after first: Int) -> Range<Int>? {
    for line in block.lines[first...] where block.isEqual(line.name, "host") { return line.value }
    return nil
  }

  /// Whether the text has `%2F`, which a host name never has, and no other character than a path of a Unix socket.
  private static func isSocketPath(_ text: Span<UInt8>) -> Bool {
    guard isToken(text) else { return false }
    var index = 0
    while index &+ 2 < text.count {
      if text[index] == UInt8(ascii: "%"), text[index &+ 1] == UInt8(ascii: "2"),
        ASCII.lowercased(text[index &+ 2]) == UInt8(ascii: "f")
      {
        return true
      }
      index &+= 1
    }
    return false
  }

  private static func isToken(_ text: Span<UInt8>) -> Bool {
    for index in text.indices where !Grammar.isToken(text[index]) { return false }
    return true
  }
}

/// The pseudo-header fields of a request, each at most once, before all other fields (RFC 9113 §8.3).
private struct PseudoHeaders {
  private(set) var method: Range<Int>?
  private(set) var scheme: Range<Int>?
  private(set) var path: Range<Int>?
  private(set) var authority: Range<Int>?
  private(set) var upgrade: Range<Int>?
  private(set) var count = 0

  init(_ block: borrowing HeaderBlock) throws(MessageError) {
    let bytes = block.bytes.span
    while count < block.lines.count {
      let line = block.lines[count]
      guard !line.name.isEmpty, bytes[line.name.lowerBound] == Byte.colon else { return }
      let isNew =
        switch true {
        case block.isEqual(line.name, ":method"): Self.set(&method, line.value)
        case block.isEqual(line.name, ":path"): Self.set(&path, line.value)
        case block.isEqual(line.name, ":scheme"): Self.set(&scheme, line.value)
        case block.isEqual(line.name, ":authority"): Self.set(&authority, line.value)
        case block.isEqual(line.name, ":protocol"): Self.set(&upgrade, line.value)
        default: false
        }
      guard isNew else { throw MessageError(.badPseudoHeader, MessageFault(line: count &+ 1)) }
      count &+= 1
    }
  }

  /// Stores the value. Returns `false` if there is one already.
  private static func set(_ field: inout Range<Int>?, _ value: Range<Int>) -> Bool {
    guard field == nil else { return false }
    field = value
    return true
  }
}
