package import TestServer

extension Stage {
  /// Closes the connection after each response, so that the next request needs a new session or resumes one.
  package static let closingEach: @Sendable (AcceptedConnection) -> Void = { connection in
    guard (try? connection.readRequest()) != nil else { return }
    try? connection.write(Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8))
  }

  /// Returns a stage whose upstream closes the connection after each response.
  package static func closingEach(tlsVersion: Int32) throws -> Stage {
    var options = UpstreamServer.Options()
    options.tlsVersion = tlsVersion
    return try Stage(options: options, handler: closingEach)
  }
}
