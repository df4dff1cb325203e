internal import HTTP1
internal import Policy
internal import Primitives

/// The second attempt of a request whose credential can be renewed: the buffered request body, and the progress.
struct AuthRetry: Sendable {
  private enum State {
    case none, buffering, underWay, refused
    /// The credential cannot be renewed, but `upstreamRetry` is set.
    case impossible
  }

  private var state = State.none
  /// The request body so far, without its framing.
  private(set) var body: [UInt8] = []
  private var limit = 0
  /// `true` if a reload has changed the upstream or the credential after the challenge.
  var isRerouted = false
  /// The additional attempts after upstream failures. `nil` if there is none, and no body is kept for one.
  private(set) var upstreamRetry: UpstreamRetry?

  /// Whether the request was sent before, and the whole body is kept.
  var keepsWholeBody: Bool { isUnderWay || upstreamRetry?.wasSent == true }
  /// Whether the request is being sent for the second time.
  var isUnderWay: Bool { state == .underWay }
  /// Whether the upstream has sent a challenge for the credential of this request.
  var isChallenged: Bool { isUnderWay && !isRerouted }
  /// Whether the renewal brought no new credential value, so that the first response is forwarded.
  var isRefused: Bool { state == .refused }
  /// Whether all body bytes that were sent are still buffered, so that the request can be sent again.
  var isPossible: Bool { state == .buffering }

  /// Forgets the body that was kept for a renewed credential.
  mutating func forgetBody() {
    guard state == .buffering else { return }
    state = upstreamRetry == nil ? .none : .impossible
    body.removeAll()
  }

  mutating func withUpstreamRetry<Result>(_ change: (inout UpstreamRetry) -> Result) -> Result {
    if state == .none { state = .impossible }
    var retry = upstreamRetry.take() ?? UpstreamRetry()
    let result = change(&retry)
    upstreamRetry = consume retry
    return result
  }

  mutating func begin(limit: Int) {
    (state, self.limit) = (.buffering, limit)
    body.removeAll()
  }

  mutating func keep(_ bytes: Span<UInt8>) {
    guard state == .buffering else { return }
    if bytes.count <= limit - body.count { body.append(bytes) } else { forgetBody() }
  }

  mutating func start() { (state, isRerouted) = (.underWay, false) }

  mutating func refuse() {
    state = .refused
    body.removeAll()
  }
}

/// The body of a response that is held back.
enum BodyPreview {
  case incomplete
  case whole([UInt8])
  /// The body is malformed, or longer than the limit.
  case unreadable
}

/// The upstream that sent a challenge, and the credential that it asked for.
struct ChallengeContext: Equatable {
  let grant: Grant
  let reason: AuthRetryReason
  let origin: Origin
}

extension Exchange {
  /// Whether the request can be sent again after its connection failed without a response (RFC 9110 §9.2.2).
  var mayRetry: Bool { mayRetryUnsent && hasReadNoBody && head.method.isIdempotent }

  /// Whether a request whose head could not be sent can be tried again on a new connection.
  var mayRetryUnsent: Bool { session.isReused && mayRetryUnprocessed }

  /// Whether a request that the upstream did not process can be sent again: once, and only if no part of its body is lost.
  var mayRetryUnprocessed: Bool { !record.isRetried && (hasReadNoBody || keptBody != nil) }

  /// Whether no byte of the body was sent, except for a form that is kept.
  var hasReadNoBody: Bool { record.bytesUp == UInt64(form.body.count) }

  /// The body bytes that were sent, if all of them are kept. `nil` if some are lost.
  private var keptBody: [UInt8]? {
    let count = Int(exactly: record.bytesUp)
    if authRetry.isPossible || authRetry.isUnderWay, authRetry.body.count == count { return authRetry.body }
    guard let kept = authRetry.upstreamRetry?.body, kept.count == count else { return nil }
    return kept
  }

  /// The body bytes to send before the rest of the body, which has not arrived yet, because the upstream did not process the
  /// request. `nil` if there are none.
  var sentBody: [UInt8]? {
    @inline(__always) mutating get { if record.isRetried { sentAgain } else { nil } }
  }

  @inline(never)
  private var sentAgain: [UInt8]? { mutating get { hasReadNoBody ? nil : keptBody } }

  /// Whether the request must not use an idle connection, because it was already sent on one.
  package var mustOpenFresh: Bool { record.isRetried || authRetry.isUnderWay }

  package var isChallenged: Bool { mutating get { authRetry.isChallenged } }

  package var isAwaitingRenewal: Bool { mutating get { passage.phase == .awaitingRenewal } }

  /// Whether the response may need a second attempt with another credential value. It is then held back.
  mutating func mayNeedRetry(output: inout Output) -> Bool {
    guard (400..<500).contains(response.status) || isCallRejected, authRetry.isPossible, let grant, let snapshot,
      isRequestComplete,
      requestTrailers.isEmpty
    else { return false }
    let permission = snapshot.rules.grants[grant]
    switch permission.authRetry {
    case .expiry where isCallRejected: break
    case .expiry: return mayBeExpiry(permission.expiry, output: &output)
    case .digest(let hashes, let realm):
      guard response.status == 401, DigestChallenge.strongest(in: response, of: hashes, realm: realm) != nil else {
        return false
      }
    case .registry(let realm):
      guard response.status == 401, RegistryChallenge.find(in: response, realm: realm) != nil else { return false }
    case .challenged(let scheme, let realm):
      guard response.status == 401, scheme.isRequested(by: response, realm: realm) else { return false }
    }
    awaitRenewal(output: &output)
    return true
  }

  /// Whether the response reports an expired credential of a request that cannot be sent again.
  var isExpiryWithoutRetry: Bool {
    mutating get {
      guard (400..<500).contains(response.status) || isCallRejected, !authRetry.isUnderWay, !authRetry.isRefused,
        let grant, let snapshot
      else { return false }
      let permission = snapshot.rules.grants[grant]
      guard permission.replayBuffer != nil, permission.authRetry == .expiry else { return false }
      if isCallRejected { return true }
      guard case .expired = CredentialExpiry.evaluate(response, by: permission.expiry) else { return false }
      return true
    }
  }

  private mutating func mayBeExpiry(_ signs: ExpirySigns, output: inout Output) -> Bool {
    switch CredentialExpiry.evaluate(response, by: signs) {
    case .notExpired: return false
    case .expired: awaitRenewal(output: &output)
    case .dependsOnBody:
      switch response.bodyLength(respondingTo: head.method) {
      case .length, .chunked:
        if isCoded { return false }
        passage.phase = .inspectingBody
      case .none, .untilClose: return false
      }
    }
    return true
  }

  private mutating func awaitRenewal(output: inout Output) {
    passage.phase = .awaitingRenewal
    output.actions.insert(.renewCredential)
  }

  private var isCoded: Bool {
    let bytes = response.bytes.span
    return response.fields.contains { FieldName.matches($0.name, of: bytes, "content-encoding") }
  }

  /// Maximum length of a response body to inspect for signs of an expired credential, in bytes.
  static var longestSign: Int { 16_384 }

  /// Searches the response body for signs of an expired credential.
  mutating func inspectBody(_ preview: BodyPreview, output: inout Output) {
    guard let grant, let signs = snapshot?.rules.grants[grant].expiry else { return }
    var isExpired = false
    switch preview {
    case .incomplete: return
    case .unreadable: break
    case .whole(let body): isExpired = CredentialExpiry.isExpired(by: body, of: response, signs: signs)
    }
    awaitRenewal(output: &output)
    if isExpired { return }
    output.actions.remove(.renewCredential)
    authRetry.refuse()
  }

  /// Whether the connection can be used again after the pending response, if its whole body has arrived.
  var canReuseAfterChallenge: Bool {
    guard let grant, let snapshot else { return false }
    return snapshot.rules.grants[grant].authRetry.requiresChallenge && canReuseAfterDiscarding
  }

  mutating func keepBody(for snapshot: Snapshot) {
    guard let grant, let limit = snapshot.rules.grants[grant].replayBuffer else { return authRetry.forgetBody() }
    authRetry.begin(limit: limit)
  }

  mutating func beginRetry() {
    authRetry.start()
    record.isRenewed = true
    record.callStatus = nil
    discardResponse()
  }

  /// The upstream and credential of the challenge that led to the second attempt. `nil` if there was none.
  var challengeContext: ChallengeContext? {
    guard authRetry.isChallenged, let grant, let route, let snapshot else { return nil }
    let permission = snapshot.rules.grants[grant]
    let origin = snapshot.rules.services[route.service].upstream.origin
    return ChallengeContext(grant: permission, reason: permission.authRetry, origin: origin)
  }
}
