internal import Configuration
internal import Credentials
internal import EventLoop
internal import Gateway
internal import HTTP1
internal import Policy
internal import Providers
internal import Setup
internal import TLS
internal import Transport

/// One client connection: a stream below, the state machine above, and at most one upstream session at its side.
/// Does what `ClientConnection` says; has no rules of its own.
final class ClientSession: Timed, StreamDelegate {
  let stream: EventLoop.Stream
  /// The worker lets go of its sessions when they end, so this is no cycle that stays.
  let worker: Worker
  /// Where it came in.
  let listenerID: ListenerID
  /// Where its request is worked on; nil: there is none, nor the beginning of one.
  var slot: ExchangeSlot?
  /// Of the machine, after its last event.
  var standing = ClientConnection.Standing.atFirst
  /// As the kernel says.
  let caller: Caller?
  /// This machine's end of the connection; see `Peer.localEnd`. A listener of every address does not know it.
  let localEnd: LocalEnd?
  /// Of systemd, in which the client's socket was made, if that is known.
  let unit: String?
  var quota: CallerQuota
  /// The session's number in `Worker.unproven`; nil: it is no stranger's.
  var unprovenNumber: UInt64?
  /// Its request counts among those under way.
  var holdsRequest = false
  /// It did until now, and has no record yet.
  var hasHeldRequest = false
  var bodyPace = BodyPace()
  /// Bytes that the machine could not use yet, of the client and of the upstream.
  var pending: PendingBytes?
  var upstreamPending: PendingBytes?
  var upstream: UpstreamSession?
  /// Logged in on by this client, and between two of its requests.
  var dedicated: DedicatedUpstream?
  var connector: Connector?
  /// At the end of the turn one is opened, and whether it has to be a fresh one.
  var opensLater = false
  var opensFresh = false
  /// A value of the credential that is on its way, before that.
  var secretWait: SecretWait?
  /// Of the token that went out with the request; 0: there was none.
  var tokenGeneration: UInt64 = 0
  /// And of its value, which may stay the same from one token to the next.
  var valueGeneration: UInt64 = 0
  /// How the request went out, if its credential answers challenges, until that is known.
  var attempt: ChallengeAttempt?
  /// Of the same: where its cookies came from, and those of the answer go.
  var jarTicket: JarTicket?
  /// The rest of an answer is searched on a later turn of the loop.
  var isSearching = false
  /// What the upstream did behind an answer that is held back.
  var deferredEnd: DeferredEnd?
  /// Of a request that is out with a credential and has no answer yet.
  var pass: CredentialBreaker.Pass?
  /// What programs gave for it that want to hear of the answer.
  var heardValues: [HelperValue] = []
  /// Of a request that is counted, until its head is out; and whether it was.
  var rateHold: RateHold?
  var hasSpentRate = false
  var generation: Generation
  /// Of the request under way, or the last one; nil: it had no route.
  var routeContext: RouteContext?
  var isReading = false
  var isClosed = false
  /// Its listener is no longer configured: it carries its exchange to the end and no other.
  var isOrphan = false
  /// Nothing more is taken or asked; what is queued still goes out.
  var isClosing = false
  /// The deadline that is scheduled; nil: it has to be scheduled anew, even if it is of the same kind.
  var lastDeadline: Deadline?
  var startedAt: UInt64 = 0
  /// Microseconds of the monotonic clock; 0: no answer's head is being waited for.
  var headSentAt: UInt64 = 0
  /// Microseconds until the answer's head came; nil: it has not.
  var responseHeadTook: UInt64?
  var totalBy = UInt64.max
  var failureDetail: String?
  var heldBack: HoldTimer?
  /// Requests that began in that turn of the loop, and whether the next ones wait for another one.
  var turn: UInt64 = 0
  var begunInTurn = 0
  var isResting = false
  /// What `open` found at once, for the loop that asked.
  var openResult: Opened?

  enum Opened {
    case session(UpstreamSession, isReused: Bool)
    indirect case failed(ConnectFailure)
  }

  init(stream: EventLoop.Stream, listenerID: ListenerID, peer: Peer, quota: CallerQuota, worker: Worker) {
    self.stream = stream
    self.listenerID = listenerID
    caller = peer.caller
    localEnd = peer.localEnd
    unit = worker.callerUnits.unit(of: peer.controlGroup)
    self.quota = quota
    self.worker = worker
    generation = worker.generation
    super.init()
    stream.delegate = self
    stream.step = .client
    settle()
  }

  deinit {
    if let slot { worker.release(slot) }
  }

  // MARK: what the client's stream says

  func streamDidConnect(_ stream: EventLoop.Stream) {}

  func stream(_ stream: EventLoop.Stream, didRead bytes: Span<UInt8>) {
    if pending == nil {
      let used = feed(bytes)
      if used < bytes.count, !isClosed { pending = PendingBytes.adding(bytes.extracting(used...), to: pending) }
    } else {
      pending = PendingBytes.adding(bytes, to: pending)
    }
    settle()
  }

  func streamDidEnd(_ stream: EventLoop.Stream) {
    isReading = false
    let isGone = isWithinExchange && Peer.isGone(stream, diagnostics: worker.context.diagnostics)
    step { machine, output in
      if isGone { machine.clientClosed(output: &output) } else { machine.clientEnded(output: &output) }
    }
    settle()
  }

  /// Between requests it is all the same whether it closed or only said that it will send nothing more: the kernel need not
  /// be asked, as it would be once per connection.
  private var isWithinExchange: Bool {
    switch standing.phase {
    case .awaitingUpstream, .exchanging, .upgraded: true
    case .awaitingHead, .lingering, .closed: false
    }
  }

  func streamDidDrain(_ stream: EventLoop.Stream) {
    if isClosing { finishClosing() } else { settle() }
  }

  func stream(_ stream: EventLoop.Stream, didFail error: UVError) {
    step { machine, output in machine.clientGone(output: &output) }
    finishClosing()
  }

  // MARK: what the clock and the configuration say

  override func deadlinePassed() {
    if isClosing { return finishClosing(reset: true) }
    lastDeadline = nil
    let isTotal = standing.isRunning && worker.loop.now >= totalBy
    step { machine, output in
      if isTotal { machine.totalDeadlinePassed(output: &output) } else { machine.deadlinePassed(output: &output) }
    }
    settle()
  }

  /// A new generation is current. Returns false if a running exchange would no longer be allowed.
  /// - Parameter index: the listener's, in the new settings; nil: it is no longer configured.
  func configurationChanged(listener index: Int?) -> Bool {
    guard let index else {
      isOrphan = true
      guard standing.hasSession else {
        // There is nobody any more who could let it in.
        close(reset: standing.phase != .lingering)
        return true
      }
      drain()
      return false
    }
    guard let slot else {
      // The last one's secrets are not kept for a connection that rests.
      (generation, routeContext) = (worker.generation, nil)
      endDedicated()
      return true
    }
    slot.machine.listener = index
    if standing.phase == .awaitingUpstream {
      cancelOpening()
      decideAnew()
      takeOpened()
    }
    return isStillAllowed
  }

  private var isStillAllowed: Bool { slot?.machine.isStillAllowed(by: worker.generation.snapshot) ?? true }

  /// The time of grace of a revoked exchange is over. It may have ended by itself, or be allowed again.
  func cut(ifStillIn old: Generation) {
    guard standing.hasSession, generation === old, !isClosed else { return }
    if !isOrphan, isStillAllowed { return }
    step { machine, output in machine.revoked(output: &output) }
    settle()
  }

  /// The daemon ends.
  func cut() {
    step { machine, output in machine.stopped(output: &output) }
    close(reset: standing.phase == .closed)
  }

  func drain() {
    step { machine, output in machine.drain(output: &output) }
    settle()
  }
}
