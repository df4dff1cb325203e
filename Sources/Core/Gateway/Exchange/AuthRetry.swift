internal import HTTP1
internal import Policy
internal import Primitives

/// The second try of a request whose credential can be renewed: what it takes to send it once more, and how far that has come.
struct AuthRetry: Sendable {
  private enum State { case none, keeping, underWay, refused }

  private var state = State.none
  /// The body so far, without its framing.
  private(set) var body: [UInt8] = []
  private var limit = 0
  /// A configuration that came since then leads it elsewhere, or with another credential: who goes there has not been asked for.
  var isElsewhere = false

  /// The request is out for the second time.
  var isUnderWay: Bool { state == .underWay }
  /// The upstream has asked for what the request goes out with.
  var isAsked: Bool { isUnderWay && !isElsewhere }
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

  mutating func start() { (state, isElsewhere) = (.underWay, false) }

  mutating func refuse() {
    state = .refused
    body.removeAll()
  }
}

/// An upstream that has asked for a credential.
struct AskedPlace: Equatable {
  let grant: Grant
  /// No part of what grants are compared by.
  let reason: AuthRetryReason
  let origin: Origin
}

extension Exchange {
  /// Nothing of an answer came on a session that had been idle, sending again changes nothing (RFC 9110 §9.2.2), and all
  /// of the request is still to be had.
  var mayRetry: Bool { mayRetryUnsent && session.received == .nothing && head.method.isIdempotent }

  /// Whether a request whose head never left may be sent once more: then it may be of any method.
  var mayRetryUnsent: Bool { session.isReused && !record.isRetried && record.bytesUp == UInt64(form.body.count) }

  /// The upstream has asked for the credential that the request goes out with.
  package var isAsked: Bool { authRetry.isAsked }

  /// The head of an answer waits for what comes of the credential's renewal.
  var isHeld: Bool { passage.phase == .held }

  /// Whether the answer whose head was read says that the credential has expired, or what is to be made of it, so that the
  /// same request may well be answered when it comes with another one; or may say so in its body: then it goes no further
  /// yet. Not if not all of the request is there to be sent again.
  mutating func mayWantSecondTry(output: inout Output) -> Bool {
    guard (400..<500).contains(response.status), authRetry.isPossible, let grant, let snapshot, isRequestComplete,
      requestBody.trailers.isEmpty
    else { return false }
    let permission = snapshot.rules.grants[grant]
    switch permission.authRetry {
    case .expiry: return mayBeExpiry(permission.expiry, output: &output)
    case .digest(let hashes):
      guard response.status == 401, DigestChallenge.strongest(in: response, of: hashes) != nil else { return false }
    case .registry(let realm):
      guard response.status == 401, RegistryChallenge.find(in: response, realm: realm) != nil else { return false }
    case .awaited(let scheme):
      guard response.status == 401, scheme.isWanted(by: response) else { return false }
    }
    hold(output: &output)
    return true
  }

  /// Whether the answer whose head was read says that the credential has expired, to a request that was not tried twice, since
  /// not all of it is there.
  var isExpiryForOthers: Bool {
    guard (400..<500).contains(response.status), !authRetry.isUnderWay, !authRetry.isRefused, let grant, let snapshot
    else { return false }
    let permission = snapshot.rules.grants[grant]
    guard permission.replayBuffer != nil, permission.authRetry == .expiry,
      case .isMeant = CredentialExpiry.judge(response, by: permission.expiry)
    else { return false }
    return true
  }

  private mutating func mayBeExpiry(_ signs: ExpirySigns, output: inout Output) -> Bool {
    switch CredentialExpiry.judge(response, by: signs) {
    case .isNotMeant: return false
    case .isMeant: hold(output: &output)
    case .isInBody:
      switch response.bodyLength(answering: head.method) {
      case .length, .chunked:
        if isCoded { return false }
        passage.phase = .judged
      case .none, .untilClose: return false
      }
    }
    return true
  }

  private mutating func hold(output: inout Output) {
    passage.phase = .held
    output.actions.insert(.renewCredential)
  }

  /// Whether the answer has a coding that would have to be undone before it can be read.
  private var isCoded: Bool {
    let bytes = response.bytes.span
    return response.fields.contains { FieldName.matches($0.name, of: bytes, "content-encoding") }
  }

  /// Bytes of a body with its framing: errors are shorter, and all of it is held until it is known.
  private static var longestSign: Int { 16_384 }

  /// Looks at a body from its beginning; it stays where it is, and comes again with more if that is not enough.
  mutating func inspectBody(_ input: Span<UInt8>, output: inout Output) {
    guard let grant, let signs = snapshot?.rules.grants[grant].expiry else { return }
    var reader = BodyReader(response.bodyLength(answering: head.method))
    var body: [UInt8] = []
    var position = 0
    var isOver = false
    do throws(MessageError) {
      while !isOver, !reader.isComplete {
        switch try reader.next(input, position: &position) {
        case .data(let range):
          body.append(input.extracting(range))
          isOver = body.count > Exchange.longestSign
        case .end: break
        case .needsMore:
          if input.count < Exchange.longestSign { return }
          isOver = true
        }
      }
    } catch {
      isOver = true
    }
    hold(output: &output)
    guard isOver || !CredentialExpiry.isMeant(by: body, of: response, signs: signs) else { return }
    output.actions.remove(.renewCredential)
    authRetry.refuse()
  }

  /// The answer that is held back asks for a credential which nothing was shown of so far, and its session ends where it does: the
  /// same request may go out on it once more.
  /// - Parameter rest: what came behind its head.
  func keepsConnectionReusable(_ rest: [UInt8]) -> Bool {
    guard let grant, let snapshot, snapshot.rules.grants[grant].authRetry.waitsToBeAsked, mayServeAnother,
      !session.hasLogin
    else { return false }
    var reader = BodyReader(response.bodyLength(answering: head.method))
    var position = 0
    do throws(MessageError) {
      while !reader.isComplete {
        if case .needsMore = try reader.next(rest.span, position: &position) { return false }
      }
    } catch {
      return false
    }
    return position == rest.count
  }

  mutating func keepBody(for snapshot: Snapshot) {
    guard let grant, let limit = snapshot.rules.grants[grant].replayBuffer else { return authRetry.reset() }
    authRetry.begin(limit: limit)
  }

  /// The first answer is forgotten.
  mutating func beginRetry() {
    authRetry.start()
    record.isRenewed = true
    passage = ResponsePassage()
    reading.isWithinHead = true
  }

  /// The upstream that has asked, and the credential that it asked for; nil: none has.
  var askedPlace: AskedPlace? {
    guard authRetry.isAsked, let grant, let route, let snapshot else { return nil }
    let permission = snapshot.rules.grants[grant]
    let origin = snapshot.rules.services[route.service].upstream.origin
    return AskedPlace(grant: permission, reason: permission.authRetry, origin: origin)
  }

  mutating func sendKeptBody(output: inout Output) { send(whole: authRetry.body, output: &output) }

  /// All of the request's body, in one piece.
  mutating func send(whole body: [UInt8], output: inout Output) {
    guard !body.isEmpty || head.hasChunkedBody else { return }
    session.sendsChunks = false
    output.actions.insert(.sendBody)
    if head.hasChunkedBody {
      if !body.isEmpty { MessageWriter.chunk(body.span, to: &output.toUpstream) }
      MessageWriter.lastChunk(trailers: [], of: [], to: &output.toUpstream)
    } else {
      output.toUpstream.append(body.span)
    }
  }
}
