// The parser is separate from `HTTP1`, so that tests detect bugs in `HTTP1`.
package struct UpstreamRequest: Sendable {
  package let head: [UInt8]
  /// The body after the removal of chunk framing.
  package let body: [UInt8]
}

extension AcceptedConnection {
  /// Reads the next complete request; `nil` if the peer has closed the connection.
  /// - Parameter afterHead: Called with the head before the body is read.
  package func readRequest(afterHead: ([UInt8]) throws -> Void = { _ in }) throws -> UpstreamRequest? {
    guard let head = try consume(through: Array("\r\n\r\n".utf8)) else { return nil }
    try afterHead(head)
    let fields = String(decoding: head, as: UTF8.self).lowercased().split(separator: "\r\n")
    func value(_ name: String) -> String? {
      fields.first { $0.hasPrefix(name + ":") }.map { String($0.dropFirst(name.utf8.count + 1).filter { $0 != " " }) }
    }
    if value("transfer-encoding") == "chunked" {
      return UpstreamRequest(head: head, body: try readChunks())
    }
    let length = value("content-length").flatMap { Int($0) } ?? 0
    return UpstreamRequest(head: head, body: try consume(count: length))
  }

  private func readChunks() throws -> [UInt8] {
    var body: [UInt8] = []
    while let line = try consume(through: Array("\r\n".utf8)) {
      let digits = String(decoding: line, as: UTF8.self).prefix { $0.isHexDigit }
      guard let size = Int(digits, radix: 16) else { throw TestServerError("bad chunk") }
      if size == 0 {
        while let trailer = try consume(through: Array("\r\n".utf8)), trailer.count > 2 {}
        return body
      }
      body += try consume(count: size)
      _ = try consume(count: 2)
    }
    throw TestServerError("closed in a chunked body")
  }

  /// Consumes the bytes through `end`; `nil` if the peer closed the connection before any byte.
  private func consume(through end: [UInt8]) throws -> [UInt8]? {
    while true {
      if pending.count >= end.count {
        for index in 0...(pending.count - end.count) where pending[index..<(index + end.count)] == end[...] {
          return try consume(count: index + end.count)
        }
      }
      let bytes = try read()
      if bytes.isEmpty {
        guard pending.isEmpty else { throw TestServerError("closed in a request") }
        return nil
      }
      pending += bytes
    }
  }

  private func consume(count: Int) throws -> [UInt8] {
    while pending.count < count {
      let bytes = try read()
      guard !bytes.isEmpty else { throw TestServerError("closed in a request") }
      pending += bytes
    }
    defer { pending.removeFirst(count) }
    return Array(pending.prefix(count))
  }
}

extension UpstreamServer {
  package static func httpHandler(response: String) -> @Sendable (AcceptedConnection) -> Void {
    httpHandler { _ in Array(response.utf8) }
  }

  /// Returns a handler that responds with HTTP/1.1 text. If the server has selected `h2` with ALPN, requests and responses are
  /// translated.
  package static func httpHandler(
    response: @escaping @Sendable (UpstreamRequest) -> [UInt8]
  ) -> @Sendable (AcceptedConnection) -> Void {
    let http2 = http2Handler { request in
      let text = response(UpstreamRequest(head: request.head, body: request.body))
      return [HTTP2Step](http1: text, isHeadRequest: request.method == "HEAD")
    }
    return { connection in
      if connection.applicationProtocol == "h2" { return http2(connection) }
      while let request = try? connection.readRequest() {
        do { try connection.write(response(request)) } catch { return }
      }
    }
  }
}
