internal import Configuration
internal import Gateway
internal import HTTP1
internal import Log
internal import Policy
internal import Setup
internal import System

/// Advice on what a person could do about a refusal.
extension EventLog {
  private func userName(_ uid: UInt32) -> String? {
    if let known = userNames[uid] { return known }
    if userNames.count >= 256 { userNames = [:] }
    let name = Users.localName(ofUID: uid) ?? String(uid)
    userNames[uid] = name
    return name
  }

  /// For two peers who speak another protocol than this one.
  func help(with problem: MessageError.Reason?) -> String? {
    switch problem {
    case .tlsHandshake: "a TLS client came, and this port is for plain HTTP: its URL has to begin with http://"
    case .http2Frame: "the upstream speaks HTTP/2 without being asked, and bearerd speaks HTTP/1.1 to upstreams"
    default: nil
    }
  }

  /// The name and port of `Host`, if they are ones that `hosts` could have: taken apart, and put together again.
  private func calledAuthority(of head: RequestHead) -> String? {
    guard let host = head.host, !ClientToken.isIn(head.bytes.span.extracting(host)),
      let origin = try? Origin(parsing: "http://\(String(decoding: head.bytes[host], as: UTF8.self))"),
      !origin.host.isLocal
    else { return nil }
    return "\(origin.host):\(origin.port)"
  }

  /// The line of the configuration that would have let this caller, or this page, in.
  /// - Parameter listener: The request's listener. `nil` if the configuration no longer has it.
  func help(for refusal: Refusal, head: RequestHead, listener: ListenerSettings?, settings: Settings) -> String? {
    guard case .policy(let refusal) = refusal else { return nil }
    let rules = settings.rules
    switch refusal {
    case .callerNotAllowed(let uid):
      guard let listener else { return nil }
      return "to let this user ask, \(listener.admission) needs "
        + AllowUsers.line(adding: uid, to: listener.callers, named: userName)
    case .originNotAllowed:
      guard let listener, let origin = PageOrigins.origin(of: head) else { return nil }
      return "to let this page ask, \(listener.admission) needs \(listener.pages.line(adding: origin))"
    case .hostNotAllowed:
      guard let listener, let authority = calledAuthority(of: head) else { return nil }
      return "if \(authority) is a name of this machine, \(listener.admission) needs hosts: [\"\(authority)\"]"
    case .clientTokenMissing: return "no client token came with the request"
    case .clientTokenMalformed:
      return
        "a key came with the request that is no client token: one begins with \(ClientToken.prefix) and has \(ClientToken.length) characters"
    case .clientTokenUnknown: return "the client token that came is not one of those in the listener's clients"
    case .clientNotAllowedHere(let service):
      return "to let this client ask, allow_clients of services.\(rules.services[service].name) has to name it"
    case .clientNotGranted(_, let grant):
      return "to let this client have it, allow_clients of credentials.\(rules.grants[grant].name) has to name it"
    case .callerNotAllowedHere(_, nil), .callerNotGranted(_, _, nil):
      return "who comes by a network is no user, and allow_users wants one: name clients in allow_clients instead"
    case .callerNotAllowedHere(let service, let uid?):
      return "to let this user ask, services.\(rules.services[service].name) needs "
        + AllowUsers.line(adding: uid, to: rules.services[service].callers, named: userName)
    case .callerNotGranted(_, let grant, let uid?):
      return "to let this user have it, credentials.\(rules.grants[grant].name) needs "
        + AllowUsers.line(adding: uid, to: rules.grants[grant].callers, named: userName)
    case .noRule(let service):
      return
        "no rule of services.\(rules.services[service].name) fits: bearerctl explain says why, and which line to add"
    default: return nil
    }
  }
}
