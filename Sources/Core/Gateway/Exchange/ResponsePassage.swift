internal import HTTP1

/// How a response is read from the upstream. Its storage serves one exchange after the other.
struct ResponseReading: Sendable {
  private(set) var limits: HeadLimits
  var reader: HeadReader
  /// A head that the upstream never finished leaves the reader in the middle: `begin` sees to it.
  var isWithinHead = false
  var options = ConnectionOptions()
  var body: BodyReader

  init(_ limits: HeadLimits) {
    self.limits = limits
    reader = HeadReader(limits: limits)
    body = BodyReader(.none, limits: limits)
  }

  mutating func begin(_ limits: HeadLimits) {
    guard isWithinHead || limits != self.limits else { return }
    self.limits = limits
    reader = HeadReader(limits: limits)
    isWithinHead = false
  }
}

/// How far one response has come on its way to the client, and what becomes of it. Each exchange begins with a new value.
struct ResponsePassage: Sendable {
  enum Phase {
    case head
    /// Whether the credential has expired, the body says, which is not all there.
    case judged
    /// The head says that the credential has expired, and waits for what comes of that.
    case held
    case body, upgraded, done
  }

  var phase = Phase.head
  var answer = ClientAnswer.none
  /// How the body goes on to this client.
  var framing = BodyLength.none
  var treatment = BodyTreatment.asItIs
  var withheldBytes = 0
  /// Interim responses (1xx) so far, and what is left for the places that they name.
  var interimCount = 0
  var interimRoom = RewriteBudget()
  /// A newer value of the credential's cookie, in the head.
  var freshCookie: SetCookie?
  /// The head has lines for the jar.
  var hasJarCookies = false

  /// Our own answer has gone out whole.
  mutating func end(closes: Bool) {
    phase = .done
    answer = closes ? .closes : .goesOn
  }
}

/// How much the client has been answered.
enum ClientAnswer {
  /// Nothing yet.
  case none
  /// A head has gone out; its connection goes on, or closes after the answer.
  case goesOn, closes
  /// The answer began before the request was whole: the connection closes after it.
  case early
}

/// The use that one exchange makes of its upstream session.
struct SessionUse: Sendable {
  enum Received {
    case nothing, bytes
    /// More than the response, or the session's end: it can serve no other request.
    case surplus
  }

  /// Whether the session has served another exchange before.
  private(set) var isReused = false
  var received = Received.nothing
  /// The request's body goes out in chunks, and the last one has not gone.
  var sendsChunks = false
  /// One side logs in on the connection, or wants to.
  var hasLogin = false

  mutating func begin(isReused: Bool, sendsChunks: Bool) {
    (self.isReused, self.sendsChunks, received) = (isReused, sendsChunks, .nothing)
  }
}
