internal import Policy

/// The listener that a request came by, and its caller.
struct Arrival: Sendable {
  /// `nil` if no connection is served.
  var listener: ListenerID?
  /// nil: the kernel gave no certain answer.
  var caller: Caller?
  /// The client came by a unix socket.
  var isLocalSocket = false
  /// An address that `Host` may name in addition to the listener's names. `nil` if there is none.
  var localEnd: LocalEnd?
}

/// The decision of a configuration on one request.
struct Decision: Sendable {
  /// The configuration; nil: none has been asked.
  var snapshot: Snapshot?
  /// Nil: refused, or answered by us.
  var route: Route?
  /// With the name of the client whose token came along.
  var caller: Caller?
  /// Nil: refused before any service was found.
  var admitted: AdmittedRequest?
  /// The listed page that asks, of a request that was not admitted for another reason.
  var refusedPage: [UInt8]?
  var ownAnswer: OwnAnswer?

  /// Requests that are allowed, and go to no upstream.
  enum OwnAnswer {
    /// Metrics.
    case scrape
    /// The preflight of a page that may ask.
    case preflight
    /// An OPTIONS that may go no further than to us (RFC 9110 §7.6.2).
    case finalRecipient
  }

  /// Cheaper than a new value: mostly one or two of them are there.
  mutating func forget() {
    if snapshot != nil { snapshot = nil }
    if route != nil { route = nil }
    if caller != nil { caller = nil }
    if case .some = admitted { admitted = nil }
    if refusedPage != nil { refusedPage = nil }
    ownAnswer = nil
  }
}
