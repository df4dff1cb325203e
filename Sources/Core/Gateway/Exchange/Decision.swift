package import Policy

/// Where a request came from. All requests of a connection share it.
package final class Arrival: Sendable {
  /// The listener that accepted the connection. `nil` while no connection is served.
  package let listener: ListenerID?
  /// `nil` if the kernel could not identify the caller.
  package let caller: Caller?
  /// Whether the client uses a Unix socket.
  package let isLocalSocket: Bool
  /// An address that `Host` may name in addition to the listener's names. `nil` if there is none.
  package let localEnd: LocalEnd?

  package init(
    listener: ListenerID? = nil, caller: Caller? = nil, isLocalSocket: Bool = false, localEnd: LocalEnd? = nil
  ) {
    (self.listener, self.caller, self.isLocalSocket) = (listener, caller, isLocalSocket)
    self.localEnd = localEnd
  }
}

/// What the configuration decided about a request.
package struct Decision: Sendable {
  /// The configuration that made the decision. `nil` if there is no decision yet.
  package internal(set) var snapshot: Snapshot?
  /// `nil` if admission or the rules refused the request, or if bearerd itself responds.
  package internal(set) var route: Route?
  /// The admitted request. `nil` if admission refused the request, or has not checked it.
  package internal(set) var admitted: AdmittedRequest?
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
}
