internal import HTTP1
internal import Policy

/// Prevents request smuggling with bodies that the upstream does not read (T62).
enum UnreadBody {
  /// Whether the upstream might respond without reading the body of this request.
  @inline(__always)
  static func isPossible(of head: RequestHead, to service: Service) -> Bool {
    switch head.bodyLength {
    case .none, .length(0): false
    case .length, .chunked, .untilClose: !service.options.reuseAfterBody || !definesContent(head)
    }
  }

  /// Whether the request's method defines a meaning for a body. `false` for unknown methods.
  private static func definesContent(_ head: RequestHead) -> Bool {
    switch head.method {
    case .post, .put, .patch: return true
    case .get, .head, .delete, .options, .trace, .connect: return false
    case .other:
      let name = head.bytes[head.methodRange]
      return withContent.contains { name.elementsEqual($0.utf8) }
    }
  }

  /// Registered methods, other than POST, PUT and PATCH, that define a body.
  private static var withContent: [String] {
    // QUERY, and the methods of WebDAV (RFC 4918, 3253, 3648, 3744, 4437, 4791, 5323, 5842).
    [
      "PROPFIND", "REPORT", "PROPPATCH", "SEARCH", "QUERY", "LOCK", "MKCOL", "MERGE", "MKACTIVITY", "CHECKOUT",
      "CHECKIN",
      "VERSION-CONTROL", "UPDATE", "LABEL", "MKWORKSPACE", "BASELINE-CONTROL", "ACL", "ORDERPATCH", "MKCALENDAR",
      "MKREDIRECTREF", "UPDATEREDIRECTREF", "BIND", "UNBIND", "REBIND",
    ]
  }
}
