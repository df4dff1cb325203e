internal import HTTP1

/// The state of one response on its way to the client.
struct ResponsePassage: Sendable {
  enum Phase {
    case head
    /// The part of the body that shows whether the credential has expired has not arrived yet.
    case inspectingBody
    case awaitingRenewal
    /// The response is discarded, because the request is sent again later.
    case discarded
    case body, upgraded, done
  }

  var phase = Phase.head
  /// Whether a response head was sent to the client.
  var hasResponded = false
  /// Whether the response began before the request was complete.
  var isEarly = false
  /// Whether the rest of a replaced body is too long to be read.
  var abandonsBody: Bool { discardedBytes > Exchange.maximumDiscarded }
  var treatment = BodyTreatment.asItIs
  var challenges = ChallengeTreatment.dropped
  var discardedBytes = 0
  var interimBudget = InterimBudget()
  var interimRoom = RewriteBudget()
  /// Whether the client got an interim response.
  var hasForwardedInterim = false
  /// Whether the end of a gRPC call can reject the credential.
  var awaitsCallStatus = false
  /// Whether the first message of such a call has not arrived yet.
  var awaitsMessage = false
  /// The cookie in the response head that renews the credential. `nil` if there is none.
  var freshCookie: SetCookie?
  var hasJarCookies = false

  /// Marks the response as complete after a response of bearerd itself.
  mutating func end() {
    phase = .done
    hasResponded = true
  }
}

/// The state of the upstream connection during one exchange.
struct SessionUse: Sendable {
  private(set) var isReused = false
  /// Whether the request was sent without its credential, because the upstream has not asked for it yet.
  var isSentWithoutCredential = false
  /// Whether the client has attempted or the upstream has offered an NTLM or Negotiate login on the connection.
  var hasLogin = false

  mutating func begin(isReused: Bool) { (self.isReused, isSentWithoutCredential) = (isReused, false) }
}
