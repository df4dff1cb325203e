internal import HTTP1
internal import Policy

/// NTLM and Negotiate authenticate a connection, not a request (RFC 4559): what an upstream answers on it from then on, it
/// answers to the client that logged in there (T25).
enum ConnectionLogin {
  /// The program logs in, or goes on to.
  static func isTried(by head: RequestHead) -> Bool {
    let bytes = head.bytes.span
    for field in head.fields {
      guard case .authorization = field.known else { continue }
      var end = field.value.lowerBound
      while end < field.value.upperBound, bytes[end] != UInt8(ascii: " "), bytes[end] != UInt8(ascii: "\t") {
        end &+= 1
      }
      if isScheme(field.value.lowerBound..<end, of: bytes) { return true }
    }
    return false
  }

  /// The upstream wants it to, or goes on with it. What cannot be read may well be such a challenge.
  static func isWanted(by head: ResponseHead) -> Bool {
    let bytes = head.bytes.span
    guard let challenges = Challenge.all(in: head) else { return true }
    return challenges.contains { isScheme($0.scheme, of: bytes) }
  }

  private static func isScheme(_ name: Range<Int>, of bytes: Span<UInt8>) -> Bool {
    FieldName.matches(name, of: bytes, "ntlm") || FieldName.matches(name, of: bytes, "negotiate")
  }
}

extension Exchange {
  /// Actions for a session that may serve another request: if its connection was logged in on, one of this client alone, and
  /// only where the service says so, and nothing of ours went out with it.
  var leavingActions: Actions {
    mutating get {
      guard session.hasLogin else { return .releaseUpstream }
      guard let route, let snapshot, route.credential == .pass,
        snapshot.rules.services[route.service].dedicatesConnections
      else { return .dropUpstream }
      return [.dedicateUpstream, .releaseUpstream]
    }
  }
}
