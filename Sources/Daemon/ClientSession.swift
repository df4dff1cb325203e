internal import Configuration
internal import Credentials
internal import EventLoop
internal import Gateway
internal import HTTP1
internal import Policy
internal import TLS

/// One client connection: a stream below, the state machine above, and at most one upstream session at its side.
/// Does what `ClientConnection` says; has no rules of its own.
final class ClientSession: Timed, StreamDelegate {
  let stream: EventLoop.Stream
  /// The worker lets go of its sessions when they end, so this is no cycle that stays.
  let worker: Worker
  let listener: ListenerSlot
  var machine: ClientConnection
  let peer: Peer
  let quota: CallerQuota
  /// Its request counts among those under way.
  var holdsRequest = false
  var bodyPace = BodyPace()
  /// Bytes that the machine could not use yet.
  var pending: [UInt8] = []
  var upstream: UpstreamSession?
  var upstreamPending: [UInt8] = []
  var connector: Connector?
  /// A value of the credential that is on its way, before that.
  var secretWait: SecretWait?
  /// Of the credential that goes, or went, with this exchange.
  var breaker: OriginBreaker?
  /// Of a request that is out with a credential and has no answer yet.
  var pass: CredentialBreaker.Pass?
  /// Of a request that is counted, until its head is out; and whether it was.
  var rateHold: RateHold?
  var hasSpentRate = false
  var generation: Generation
  var isReading = false
  var isClosed = false
  /// Its listener is no longer configured: it carries its exchange to the end and no other.
  private var isOrphan = false
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
  /// What looks for the credential in the answer; nil: none was added so far.
  var redactor: Redactor?
  var heldBack: HeldBack?
  /// Requests that began in that turn of the loop, and whether the next ones wait for another one.
  var turn: UInt64 = 0
  var begunInTurn = 0
  var isResting = false
  /// What `open` found at once, for the loop that asked.
  var openResult: Opened?

  enum Opened {
    case session(UpstreamSession, isReused: Bool)
    case failed(ConnectFailure)
  }

  init(stream: EventLoop.Stream, listener: ListenerSlot, peer: Peer, quota: CallerQuota, worker: Worker) {
    self.stream = stream
    self.listener = listener
    self.peer = peer
    self.quota = quota
    self.worker = worker
    generation = worker.generation
    machine = ClientConnection(
      listener: listener.index, caller: peer.caller, limits: worker.generation.snapshot.headLimits,
      isLocalSocket: stream.isUnix)
    super.init()
    stream.delegate = self
    settle()
  }

  // MARK: what the client's stream says

  func streamDidConnect(_ stream: EventLoop.Stream) {}

  func stream(_ stream: EventLoop.Stream, didRead bytes: Span<UInt8>) {
    if pending.isEmpty {
      let used = feed(bytes)
      if used < bytes.count, !isClosed { pending.append(bytes.extracting(used...)) }
    } else {
      pending.append(bytes)
    }
    settle()
  }

  func streamDidEnd(_ stream: EventLoop.Stream) {
    isReading = false
    let isGone = isWithinExchange && peer.isGone(stream, worker: worker)
    step { machine, output in
      if isGone { machine.clientClosed(output: &output) } else { machine.clientEnded(output: &output) }
    }
    settle()
  }

  /// Between requests it is all the same whether it closed or only said that it will send nothing more: the kernel need not
  /// be asked, as it would be once per connection.
  private var isWithinExchange: Bool {
    switch machine.phase {
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
    let isTotal = isRunning && worker.loop.now >= totalBy
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
      guard machine.hasSession else {
        // There is nobody any more who could let it in.
        close(reset: machine.phase != .lingering)
        return true
      }
      drain()
      return false
    }
    machine.listener = index
    if machine.phase == .awaitingUpstream {
      cancelOpening()
      generation = worker.generation
      step { machine, output in machine.configurationChanged(worker.generation.snapshot, output: &output) }
      takeOpened()
    }
    return machine.isStillAllowed(by: worker.generation.snapshot)
  }

  /// The time of grace of a revoked exchange is over. It may have ended by itself, or be allowed again.
  func cut(ifStillIn old: Generation) {
    guard machine.hasSession, generation === old, !isClosed else { return }
    if !isOrphan, machine.isStillAllowed(by: worker.generation.snapshot) { return }
    step { machine, output in machine.revoked(output: &output) }
    settle()
  }

  /// The daemon ends.
  func cut() {
    step { machine, output in machine.stopped(output: &output) }
    close(reset: machine.phase == .closed)
  }

  func drain() {
    step { machine, output in machine.drain(output: &output) }
    settle()
  }

  // MARK: events in, actions out

  func step(_ event: (inout ClientConnection, inout Output) -> Void) {
    worker.output.reset()
    event(&machine, &worker.output)
    let nothing: [UInt8] = []
    perform(nothing.span)
    if openResult != nil { takeOpened() }
  }

  func feedPending() {
    guard !pending.isEmpty, !isClosed, !isResting else { return }
    let held = pending
    pending = []
    keep(held, from: feed(held.span))
  }

  /// What is left of bytes that waited goes on waiting.
  func keep(_ held: [UInt8], from position: Int) {
    guard position < held.count, !isClosed else { return }
    if position == 0, pending.isEmpty { pending = held } else { pending.append(held.span.extracting(position...)) }
  }

  /// Gives the machine bytes of the client for as long as it takes some. Returns how many it took.
  func feed(_ input: Span<UInt8>) -> Int {
    var position = 0
    while position < input.count, !isClosed,
      machine.phase != .awaitingHead || stream.queuedBytes == 0 && !isResting
    {
      if isOrphan, machine.phase == .awaitingHead || machine.phase == .awaitingUpstream {
        close()
        return position
      }
      let before = (position, machine.phase)
      worker.output.reset()
      machine.receivedFromClient(
        input, position: &position, snapshot: worker.generation.snapshot, output: &worker.output)
      if before.1 == .awaitingHead, position > before.0 { begin() }
      perform(input)
      while let opened = openResult {
        openResult = nil
        take(opened, input, position: &position)
      }
      if position == before.0, machine.phase == before.1 { break }
    }
    return position
  }

  /// A head was read: a new exchange.
  func begin() {
    takeTurn()
    generation = worker.generation
    hasSpentRate = false
    startedAt = worker.loop.now
    lastDeadline = nil
    failureDetail = nil
    responseHeadTook = nil
    if let route = machine.exchange.route,
      let total = generation.snapshot.rules.services[route.service].timeouts.total
    {
      totalBy = startedAt + total
    } else {
      totalBy = .max
    }
  }
}
