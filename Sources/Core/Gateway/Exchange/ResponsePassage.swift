internal import HTTP1

/// How a response is read from the upstream. Its storage serves one exchange after the other.
struct ResponseReading: Sendable {
  private(set) var limits: HeadLimits
  private var repairs = true
  var reader: HeadReader
  /// A head that the upstream never finished leaves the reader in the middle: `begin` sees to it.
  var isWithinHead = false
  var options = ConnectionOptions()
  var body: BodyReader

  init(_ limits: HeadLimits) {
    self.limits = limits
    reader = HeadReader(limits: limits, repairs: repairs)
    body = BodyReader(.none, limits: limits)
  }

  /// - Parameter repairs: `true` to repair heads that are not clean, where that is unambiguous.
  mutating func begin(_ limits: HeadLimits, repairs: Bool) {
    guard isWithinHead || limits != self.limits || repairs != self.repairs else { return }
    if limits != self.limits { body = BodyReader(.none, limits: limits) }
    (self.limits, self.repairs) = (limits, repairs)
    reader = HeadReader(limits: limits, repairs: repairs)
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
  /// How its challenges go on.
  var challenges = ChallengeTreatment.dropped
  var withheldBytes = 0
  /// What is left for interim responses (1xx), and for the places that they name.
  var interimBudget = InterimBudget()
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
  /// `true` if a credential belongs to the request, and nothing of it went out: the upstream has not asked for it yet.
  var isBare = false
  /// One side logs in on the connection, or wants to.
  var hasLogin = false
  /// `true` if the head of a response on this session was repaired: the upstream may see its end elsewhere.
  var isRepaired = false

  mutating func begin(isReused: Bool, sendsChunks: Bool) {
    (self.isReused, self.sendsChunks, received, isBare) = (isReused, sendsChunks, .nothing, false)
    isRepaired = false
  }
}
