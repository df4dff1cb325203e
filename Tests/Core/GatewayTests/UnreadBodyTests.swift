import HTTP1
import Policy
import Testing

@testable import Gateway

/// After a body that an upstream may leave unread nothing follows on its connection.
@Suite struct UnreadBodyTests {
  /// Of a body of five bytes, in both ways to say where it ends.
  private static let bodies = [
    "Content-Length: 5\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
  ]

  private func played(_ method: String, _ rest: String, reuses: Bool = true) throws -> Conversation {
    let request = "\(method) /api/x HTTP/1.1\r\nHost: localhost:7070\r\n\(rest)"
    return exchange(request, ok(body: method == "HEAD" ? "" : "hi"), try snapshot { $0.reusesAfterBody = reuses })
  }

  @Test(arguments: ["GET", "HEAD", "DELETE", "OPTIONS", "PURGE", "get", "post", "Propfind", "COPY", "UNLINK", "NOTIFY"])
  func `T62: after a body of a method that gives it no meaning the connection serves nobody, and is told so`(
    method: String
  ) throws {
    for body in Self.bodies {
      let played = try played(method, body)
      #expect(played.log == ["open", "drop", "record"], "\(method) \(body)")
      #expect(value("Connection", played.request) == "close", "\(played.request)")
      #expect(value("Connection", played.answer) == nil, "the program's own connection goes on")
    }
    for none in ["\r\n", "Content-Length: 0\r\n\r\n"] {
      let played = try played(method, none)
      #expect(played.log == ["open", "release", "record"] && value("Connection", played.request) == nil, "\(method)")
    }
    let empty = try played(method, "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
    #expect(empty.log == ["open", "drop", "record"], "an empty body in chunks is five bytes")
  }

  @Test(arguments: ["POST", "PUT", "PATCH", "QUERY", "PROPFIND", "REPORT", "LOCK", "MKCOL", "SEARCH", "MERGE"])
  func `T62: after that of a method that defines one it is used again, unless the service says otherwise`(
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

  @Test func `T62: what asks for trailers or an upgrade still says close, and asks for no upgrade`() throws {
    let trailers = try played("GET", "TE: trailers\r\nConnection: TE\r\n\(Self.bodies[0])")
    #expect(value("Connection", trailers.request) == "TE, close" && trailers.log == ["open", "drop", "record"])
    let upgrade = try played("GET", "Upgrade: websocket\r\nConnection: upgrade\r\n\(Self.bodies[0])")
    #expect(value("Connection", upgrade.request) == "close" && value("Upgrade", upgrade.request) == nil)
    #expect(upgrade.log == ["open", "drop", "record"])
  }

  @Test func `T62: explain says what becomes of the connection`() throws {
    for (fields, closes) in [("", false), ("Content-Length: 5\r\n", true)] {
      var (read, reader) = (RequestHead(), HeadReader(limits: HeadLimits()))
      let text = Array("DELETE /api/x HTTP/1.1\r\nHost: localhost:7070\r\n\(fields)\r\n".utf8)
      _ = try reader.readRequest(text.span, into: &read)
      #expect(Explanation(read, caller: caller, listener: 0, snapshot: try snapshot()).closesUpstream == closes)
    }
  }
}
