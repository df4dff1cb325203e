internal import Policy

struct Arrival: Sendable {
  /// The listener that accepted the connection. `nil` while no connection is served.
  var listener: ListenerID?
  /// `nil` if the kernel could not identify the caller.
  var caller: Caller?
  /// Whether the client uses a Unix socket.
  var isLocalSocket = false
  /// An address that `Host` may name in addition to the listener's names. `nil` if there is none.
  var localEnd: LocalEnd?
}

struct Decision: Sendable {
  /// The configuration that made the decision. `nil` if there is no decision yet.
  var snapshot: Snapshot?
  /// `nil` if admission or the rules refused the request, or if bearerd itself responds.
  var route: Route?
  /// The caller, including the client's name if the request has a client token.
  var caller: Caller?
  /// The admitted request. `nil` if admission refused the request, or has not checked it.
  var admitted: AdmittedRequest?
  /// The origin of a web page that may read the error response, if the page's request was not admitted.
  var refusedPage: [UInt8]?
  var localResponse: LocalResponse?

  /// An allowed request to which bearerd responds itself.
  enum LocalResponse {
    case scrape
    /// The request for the services that the caller may use.
    case discovery
    /// The CORS preflight of a web page that the listener's `browsers` lists.
    case preflight
    /// An OPTIONS request with `Max-Forwards: 0` (RFC 9110 §7.6.2).
    case finalRecipient
  }

  mutating func forget() {
    if snapshot != nil { snapshot = nil }
    if route != nil { route = nil }
    if caller != nil { caller = nil }
    if case .some = admitted { admitted = nil }
    if refusedPage != nil { refusedPage = nil }
    localResponse = nil
  }
}
