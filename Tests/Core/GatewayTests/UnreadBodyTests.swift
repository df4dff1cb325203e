import HTTP1
import Policy
import Testing

@testable import Gateway

/// An upstream may leave a body unread, and read the next request from within this body.
@Suite struct UnreadBodyTests {
  /// A body of five bytes, with both kinds of framing.
  private static let bodies = [
    "Content-Length: 5\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
  ]

  private func played(_ method: String, _ rest: String, reuses: Bool = true) throws -> Conversation {
    let request = "\(method) /api/x HTTP/1.1\r\nHost: localhost:7070\r\n\(rest)"
    return exchange(
      request, ok(body: method == "HEAD" ? "" : "hi"), try snapshot { $0.options.reuseAfterBody = reuses })
  }

  @Test(arguments: ["GET", "HEAD", "DELETE", "OPTIONS", "PURGE", "get", "post", "Propfind", "COPY", "UNLINK", "NOTIFY"])
  func `T62: after a body that has no meaning for its method, the upstream connection is closed`(
    method: String
  ) throws {
    for body in Self.bodies {
      let played = try played(method, body)
      #expect(played.log == ["open", "drop", "record"], "\(method) \(body)")
      #expect(value("Connection", played.request) == "close", "\(played.request)")
      #expect(value("Connection", played.response) == nil, "the program's own connection goes on")
    }
    for none in ["\r\n", "Content-Length: 0\r\n\r\n"] {
      let played = try played(method, none)
      #expect(played.log == ["open", "release", "record"] && value("Connection", played.request) == nil, "\(method)")
    }
    let empty = try played(method, "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
    #expect(empty.log == ["open", "drop", "record"], "an empty body in chunks is five bytes")
  }

  @Test(arguments: ["POST", "PUT", "PATCH", "QUERY", "PROPFIND", "REPORT", "LOCK", "MKCOL", "SEARCH", "MERGE"])
  func `T62: after a body that its method defines, the connection is reused unless configured otherwise`(
    method: String
  ) throws {
    for body in Self.bodies {
      let usual = try played(method, body)
      #expect(usual.log == ["open", "release", "record"] && value("Connection", usual.request) == nil, "\(method)")
      let careful = try played(method, body, reuses: false)
      #expect(
        careful.log == ["open", "drop", "record"] && value("Connection", careful.request) == "close", "\(method)")
    }
    #expect(try played(method, "Content-Length: 0\r\n\r\n", reuses: false).log == ["open", "release", "record"])
  }

  @Test func `T62: a request that closes its connection may ask for trailers, but not for an upgrade`() throws {
    let trailers = try played("GET", "TE: trailers\r\nConnection: TE\r\n\(Self.bodies[0])")
    #expect(value("Connection", trailers.request) == "TE, close" && trailers.log == ["open", "drop", "record"])
    let upgrade = try played("GET", "Upgrade: websocket\r\nConnection: upgrade\r\n\(Self.bodies[0])")
    #expect(value("Connection", upgrade.request) == "close" && value("Upgrade", upgrade.request) == nil)
    #expect(upgrade.log == ["open", "drop", "record"])
  }

  @Test func `T62: explain says whether the upstream connection is closed`() throws {
    for (fields, closes) in [("", false), ("Content-Length: 5\r\n", true)] {
      var (read, reader) = (RequestHead(), HeadReader(limits: HeadLimits()))
      let text = Array("DELETE /api/x HTTP/1.1\r\nHost: localhost:7070\r\n\(fields)\r\n".utf8)
      _ = try reader.readRequest(text.span, into: &read)
      #expect(Explanation(read, caller: caller, listener: 0, snapshot: try snapshot()).closesUpstream == closes)
    }
  }
}
