internal import HTTP1
internal import Policy

/// Of a request whose credential can be renewed: what it takes to send it once more, and how far that has come. At most once.
struct SecondTry: Sendable {
  private enum State { case none, keeping, underWay, refused }

  private var state = State.none
  /// The body so far, without its framing.
  private(set) var body: [UInt8] = []
  private var limit = 0

  /// The request is out for the second time.
  var isUnderWay: Bool { state == .underWay }
  /// There is no other value: the first answer stands.
  var isRefused: Bool { state == .refused }
  /// Everything is there that was sent.
  var isPossible: Bool { state == .keeping }

  mutating func reset() {
    if state == .none { return }
    state = .none
    body.removeAll()
  }

  /// The request begins to go out for the first time.
  mutating func begin(limit: Int) {
    (state, self.limit) = (.keeping, limit)
    body.removeAll()
  }

  mutating func keep(_ bytes: Span<UInt8>) {
    guard state == .keeping else { return }
    if bytes.count <= limit - body.count { body.append(bytes) } else { reset() }
  }

  mutating func start() { state = .underWay }

  mutating func refuse() {
    state = .refused
    body.removeAll()
  }
}

extension Exchange {
  /// Nothing of an answer came on a session that had been idle, sending again changes nothing (RFC 9110 §9.2.2), and all
  /// of the request is still to be had.
  var mayRetry: Bool { mayRetryUnsent && !hasResponseBytes && head.method.isIdempotent }

  /// The same when the head never left: then it may be any method.
  var mayRetryUnsent: Bool { isReused && !record.isRetried && record.bytesUp == UInt64(form.body.count) }

  /// The head of an answer waits for what comes of the credential's renewal.
  var isHeld: Bool { responsePhase == .held }

  /// Whether the answer whose head was read says that the credential has expired, so that the same request may well be
  /// answered when it comes with another one; and whether all of it is there to be sent again.
  var isWorthSecondTry: Bool {
    mutating get {
      response.status == 401 && secondTry.isPossible && grant != nil && isRequestComplete
        && requestBody.trailers.isEmpty && isReasonForSecondTry
    }
  }

  private var isReasonForSecondTry: Bool {
    mutating get {
      guard let grant, let snapshot, snapshot.rules.grants.indices.contains(grant) else { return false }
      switch snapshot.rules.grants[grant].secondTry {
      case .expiredToken: return CredentialExpiry.isMeant(by: response)
      case .digest(let hashes): return DigestChallenge.strongest(in: response, of: hashes) != nil
      case .registry(let realm): return RegistryChallenge.find(in: response, realm: realm) != nil
      }
    }
  }

  mutating func keepBody(for snapshot: Snapshot) {
    guard let grant, let limit = snapshot.rules.grants[grant].replayBuffer else { return secondTry.reset() }
    secondTry.begin(limit: limit)
  }

  /// The first answer is forgotten.
  mutating func beginSecondTry() {
    secondTry.start()
    record.isRenewed = true
    responsePhase = .head
    isWithinResponseHead = true
    informational = 0
    hasResponseBytes = false
    hasSurplus = false
  }

  mutating func sendKeptBody(output: inout Output) { send(whole: secondTry.body, output: &output) }

  /// All of the request's body, in one piece.
  mutating func send(whole body: [UInt8], output: inout Output) {
    guard !body.isEmpty || head.hasChunkedBody else { return }
    isRequestChunked = false
    output.actions.insert(.sendBody)
    if head.hasChunkedBody {
      if !body.isEmpty { MessageWriter.chunk(body.span, to: &output.toUpstream) }
      MessageWriter.lastChunk(trailers: [], of: [], to: &output.toUpstream)
    } else {
      output.toUpstream.append(body.span)
    }
  }
}
