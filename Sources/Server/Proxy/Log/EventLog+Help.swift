internal import Configuration
internal import Gateway
internal import HTTP1
internal import Log
internal import Policy
internal import Settings
internal import Loading
internal import System

/// Advice in log lines about refused requests.
extension EventLog {
  private func userName(_ uid: UInt32) -> String? {
    if let known = userNames[uid] { return known }
    if userNames.count >= 256 { userNames = [:] }
    let name = Users.localName(ofUID: uid) ?? String(uid)
    userNames[uid] = name
    return name
  }

  /// Returns advice if a client sent TLS, or an upstream sent HTTP/2, in place of HTTP/1.1. Otherwise `nil`.
  /// - Parameter scheme: the scheme of the upstream's URL. `nil` if the request has no service.
  func help(with problem: MessageError.Reason?, upstream scheme: Origin.Scheme?) -> String? {
    switch problem {
    case .tlsHandshake: "a TLS client connected, but this port is for plain HTTP: the base URL must begin with http://"
    // The upstream sends HTTP/2 although the TLS handshake has not selected it (RFC 9113 section 3.3).
    case .http2Frame where scheme == .https:
      """
      the upstream sends HTTP/2 without having selected it in the TLS handshake: delete protocol: http1 if the service \
      has it, or let the upstream's operator turn on ALPN for HTTP/2 (h2)
      """
    case .http2Frame: "the upstream speaks only HTTP/2 on this port: write protocol: http2 in the service"
    default: nil
    }
  }

  /// Returns the name and port of the `Host` field. `nil` if they cannot be listed in `hosts`.
  private func calledAuthority(of head: RequestHead) -> String? {
    guard let host = head.host, !ClientToken.isIn(head.bytes.span.extracting(host)),
      let origin = try? Origin(parsing: "http://\(String(decoding: head.bytes[host], as: UTF8.self))"),
      !origin.host.isLocal
    else { return nil }
    return "\(origin.host):\(origin.port)"
  }

  /// Returns the configuration line that would admit this caller, page or host. `nil` if there is none.
  func help(for refusal: Refusal, head: RequestHead, listener: ListenerSettings?, settings: DaemonSettings) -> String? {
    guard case .policy(let refusal) = refusal else { return nil }
    let rules = settings.rules
    switch refusal {
    case .callerNotAllowed(let uid):
      guard let listener else { return nil }
      return "to allow this user, \(listener.admission) needs "
        + AllowUsers.line(adding: uid, to: listener.callers, named: userName)
    case .originNotAllowed:
      guard let listener, let origin = PageOrigins.origin(of: head) else { return nil }
      return "to allow this page, \(listener.admission) needs \(listener.pages.line(adding: origin))"
    case .hostNotAllowed:
      guard let listener, let authority = calledAuthority(of: head) else { return nil }
      return "if \(authority) is a name of this machine, \(listener.admission) needs hosts: [\"\(authority)\"]"
    case .clientTokenMissing: return "the request has no client token"
    case .clientTokenMalformed:
      return
        "the request has a key that is not a client token: a client token begins with \(ClientToken.prefix) and has \(ClientToken.length) characters"
    case .clientTokenUnknown: return "the client token of the request is not in clients of the listener"
    case .clientNotAllowedHere(let service):
      return "to allow this client, add it to allow_clients of services.\(rules.services[service].name)"
    case .clientNotGranted(_, let grant):
      return "to allow this client, add it to allow_clients of credentials.\(rules.grants[grant].name)"
    case .callerNotAllowedHere(_, nil), .callerNotGranted(_, _, nil):
      return "a caller over the network has no user, but allow_users requires one: use allow_clients instead"
    case .callerNotAllowedHere(let service, let uid?):
      return "to allow this user, services.\(rules.services[service].name) needs "
        + AllowUsers.line(adding: uid, to: rules.services[service].callers, named: userName)
    case .callerNotGranted(_, let grant, let uid?):
      return "to allow this user, credentials.\(rules.grants[grant].name) needs "
        + AllowUsers.line(adding: uid, to: rules.grants[grant].callers, named: userName)
    case .noRule(let service):
      return
        "no rule of services.\(rules.services[service].name) matches: bearerctl explain shows why, and the line to add"
    default: return nil
    }
  }
}
