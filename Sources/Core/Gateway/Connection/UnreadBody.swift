internal import HTTP1
internal import Policy

/// Bodies that an upstream may leave unread, and take for the next request on the connection (T62): a client that sends one
/// would have any request executed, and the next on that connection would get its answer. So nothing follows such a body there.
enum UnreadBody {
  /// Whether the upstream's connection may serve nothing after this request.
  @inline(__always)
  static func isPossible(of head: RequestHead, to service: Service) -> Bool {
    switch head.bodyLength {
    case .none, .length(0): false
    case .length, .chunked, .untilClose: !service.reusesAfterBody || !definesContent(head)
    }
  }

  /// Whether the method says what a body of it means, so that every server that knows the method reads it (RFC 9110 §9.3: that
  /// of GET, HEAD, DELETE and OPTIONS has no meaning). Methods are case-sensitive, and what is not known here is not assumed.
  private static func definesContent(_ head: RequestHead) -> Bool {
    switch head.method {
    case .post, .put, .patch: return true
    case .get, .head, .delete, .options, .trace, .connect: return false
    case .other:
      let name = head.bytes[head.methodRange]
      return withContent.contains { name.elementsEqual($0.utf8) }
    }
  }

  /// Registered methods whose definition gives a body: those of WebDAV (RFC 4918, 3253, 3648, 3744, 4437, 4791, 5323, 5842),
  /// and QUERY. Subversion's MERGE, CHECKOUT and MKACTIVITY are among them.
  private static var withContent: [String] {
    [
      "PROPFIND", "REPORT", "PROPPATCH", "SEARCH", "QUERY", "LOCK", "MKCOL", "MERGE", "MKACTIVITY", "CHECKOUT",
      "CHECKIN",
      "VERSION-CONTROL", "UPDATE", "LABEL", "MKWORKSPACE", "BASELINE-CONTROL", "ACL", "ORDERPATCH", "MKCALENDAR",
      "MKREDIRECTREF", "UPDATEREDIRECTREF", "BIND", "UNBIND", "REBIND",
    ]
  }
}
