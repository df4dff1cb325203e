internal import HTTP1

/// The readers for the upstream's responses.
struct ResponseReading: Sendable {
  private(set) var limits: HeadLimits
  private var repairs = true
  var reader: HeadReader
  /// Whether the reader is within a head that the upstream has not finished.
  var isWithinHead = false
  var options = ConnectionOptions()
  var body: BodyReader

  init(_ limits: HeadLimits) {
    self.limits = limits
    reader = HeadReader(limits: limits, repairs: repairs)
    body = BodyReader(.none, limits: limits)
  }

  /// Prepares the readers for the next exchange.
  /// - Parameter repairs: whether to repair malformed heads whose meaning is unambiguous.
  mutating func begin(_ limits: HeadLimits, repairs: Bool) {
    guard isWithinHead || limits != self.limits || repairs != self.repairs else { return }
    if limits != self.limits { body = BodyReader(.none, limits: limits) }
    (self.limits, self.repairs) = (limits, repairs)
    reader = HeadReader(limits: limits, repairs: repairs)
    isWithinHead = false
  }
}

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
  var clientResponse = ClientResponse.none
  var framing = BodyLength.none
  var treatment = BodyTreatment.asItIs
  var challenges = ChallengeTreatment.dropped
  var discardedBytes = 0
  var interimBudget = InterimBudget()
  var interimRoom = RewriteBudget()
  /// Whether the client got an interim response.
  var hasForwardedInterim = false
  /// The cookie in the response head that renews the credential. `nil` if there is none.
  var freshCookie: SetCookie?
  var hasJarCookies = false

  /// Marks the response as complete after a local response was sent.
  mutating func end(closes: Bool) {
    phase = .done
    clientResponse = closes ? .closesConnection : .keepsConnection
  }
}

enum ClientResponse {
  case none
  /// The client got a head. The connection is kept, or closes after the response.
  case keepsConnection, closesConnection
  /// The response began before the request was complete. The connection closes after the response.
  case early
}

/// The state of the upstream session during one exchange.
struct SessionUse: Sendable {
  enum Received {
    case nothing, bytes
    /// The session has ended, or has bytes that are not part of the response that was read.
    case surplus
  }

  private(set) var isReused = false
  var received = Received.nothing
  /// Whether the request body is chunked, and its last chunk still has to be sent.
  var sendsChunks = false
  /// Whether the request was sent without its credential, because the upstream has not asked for it yet.
  var isSentWithoutCredential = false
  /// Whether the client has attempted or the upstream has offered an NTLM or Negotiate login on the connection.
  var hasLogin = false
  /// Whether a malformed response head on this session was repaired.
  var isRepaired = false

  mutating func begin(isReused: Bool, sendsChunks: Bool) {
    (self.isReused, self.sendsChunks, received, isSentWithoutCredential) = (isReused, sendsChunks, .nothing, false)
    isRepaired = false
  }
}
