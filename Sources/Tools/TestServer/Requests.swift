/// A request as the test server reads it: just enough HTTP/1.1 to answer, and independent of our own parser.
package struct UpstreamRequest: Sendable {
  /// With the empty line.
  package let head: [UInt8]
  /// Without chunk framing.
  package let body: [UInt8]
}

extension UpstreamConnection {
  /// The next request whole; nil when the peer closed. `afterHead` gets the head before the body is read: there an upstream
  /// answers early.
  package func readRequest(afterHead: ([UInt8]) throws -> Void = { _ in }) throws -> UpstreamRequest? {
    guard let head = try take(through: Array("\r\n\r\n".utf8)) else { return nil }
    try afterHead(head)
    let fields = String(decoding: head, as: UTF8.self).lowercased().split(separator: "\r\n")
    func value(_ name: String) -> String? {
      fields.first { $0.hasPrefix(name + ":") }.map { String($0.dropFirst(name.utf8.count + 1).filter { $0 != " " }) }
    }
    if value("transfer-encoding") == "chunked" {
      return UpstreamRequest(head: head, body: try readChunks())
    }
    let length = value("content-length").flatMap { Int($0) } ?? 0
    return UpstreamRequest(head: head, body: try take(count: length))
  }

  private func readChunks() throws -> [UInt8] {
    var body: [UInt8] = []
    while let line = try take(through: Array("\r\n".utf8)) {
      let digits = String(decoding: line, as: UTF8.self).prefix { $0.isHexDigit }
      guard let size = Int(digits, radix: 16) else { throw TestServerError("bad chunk") }
      if size == 0 {
        while let trailer = try take(through: Array("\r\n".utf8)), trailer.count > 2 {}
        return body
      }
      body += try take(count: size)
      _ = try take(count: 2)
    }
    throw TestServerError("closed in a chunked body")
  }

  /// nil: closed before anything came.
  private func take(through end: [UInt8]) throws -> [UInt8]? {
    while true {
      if pending.count >= end.count {
        for index in 0...(pending.count - end.count) where pending[index..<(index + end.count)] == end[...] {
          return try take(count: index + end.count)
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

  private func take(count: Int) throws -> [UInt8] {
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
  /// A handler that answers each request with these bytes, until the peer closes.
  package static func recordingHTTP(response: String) -> @Sendable (UpstreamConnection) -> Void {
    recordingHTTP { _ in Array(response.utf8) }
  }

  /// A handler that answers each request with what `response` makes of it, until the peer closes.
  package static func recordingHTTP(
    response: @escaping @Sendable (UpstreamRequest) -> [UInt8]
  ) -> @Sendable (UpstreamConnection) -> Void {
    { connection in
      while let request = try? connection.readRequest() {
        do { try connection.write(response(request)) } catch { return }
      }
    }
  }
}
