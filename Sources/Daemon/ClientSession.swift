internal import Configuration
internal import Credentials
internal import EventLoop
internal import Gateway
internal import HTTP1
internal import Policy
internal import TLS

/// One client connection: a stream below, the state machine above, and at most one upstream session at its side.
/// Does what `ClientConnection` says; has no rules of its own.
final class ClientSession: Timed, StreamDelegate, UpstreamSessionOwner {
  private let stream: EventLoop.Stream
  private unowned let worker: Worker
  let listener: ListenerSlot
  private var machine: ClientConnection
  private let peer: Peer
  /// Bytes that the machine could not use yet.
  private var pending: [UInt8] = []
  private var upstream: UpstreamSession?
  private var upstreamPending: [UInt8] = []
  private var connector: Connector?
  private var generation: Generation
  private var isReading = false
  private var isClosed = false
  /// Nothing more is taken or asked; what is queued still goes out.
  private var isClosing = false
  private var lastDeadline = Deadline.none
  private var startedAt: UInt64 = 0
  private var totalBy = UInt64.max
  private var failureDetail: String?

  init(stream: EventLoop.Stream, listener: ListenerSlot, peer: Peer, worker: Worker) {
    self.stream = stream
    self.listener = listener
    self.peer = peer
    self.worker = worker
    generation = worker.generation
    machine = ClientConnection(
      listener: listener.index, caller: peer.caller, limits: worker.generation.snapshot.headLimits)
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
      feedPending()
    }
    settle()
  }

  func streamDidEnd(_ stream: EventLoop.Stream) {
    isReading = false
    let isGone = peer.isGone(stream, worker: worker)
    step { machine, output in
      if isGone { machine.clientGone(output: &output) } else { machine.clientEnded(output: &output) }
    }
    settle()
  }

  func streamDidDrain(_ stream: EventLoop.Stream) {
    if isClosing { finishClosing() } else { settle() }
  }

  func stream(_ stream: EventLoop.Stream, didFail error: UVError) {
    step { machine, output in machine.clientGone(output: &output) }
    finishClosing()
  }

  // MARK: what the upstream says

  func sessionIsReady(_ session: UpstreamSession) {}

  func session(_ session: UpstreamSession, didReceive plaintext: Span<UInt8>) {
    guard session === upstream else { return }
    if upstreamPending.isEmpty {
      takeResponse(plaintext)
    } else {
      upstreamPending.append(plaintext)
      let held = upstreamPending
      upstreamPending = []
      takeResponse(held.span)
    }
    if upstream == nil { feedPending() }
    settle()
  }

  private func takeResponse(_ input: Span<UInt8>) {
    var position = 0
    worker.output.reset()
    machine.receivedFromUpstream(input, position: &position, output: &worker.output)
    perform(input)
    if position < input.count, upstream != nil { upstreamPending.append(input.extracting(position...)) }
  }

  func sessionEnded(_ session: UpstreamSession, isClean: Bool) {
    guard session === upstream else { return session.close() }
    failureDetail = isClean ? nil : "closed without close_notify"
    step { machine, output in machine.upstreamEnded(isClean: isClean, output: &output) }
    feedPending()
    settle()
  }

  func session(_ session: UpstreamSession, didFail refusal: Refusal, detail: String) {
    guard session === upstream else { return }
    failureDetail = detail
    step { machine, output in machine.upstreamFailed(refusal, output: &output) }
    feedPending()
    settle()
  }

  func sessionDidDrain(_ session: UpstreamSession) { settle() }

  // MARK: what the clock and the configuration say

  override func deadlinePassed() {
    if isClosing { return finishClosing(reset: true) }
    let isTotal = worker.loop.now >= totalBy
    step { machine, output in
      if isTotal { machine.totalDeadlinePassed(output: &output) } else { machine.deadlinePassed(output: &output) }
    }
    lastDeadline = .none
    settle()
  }

  /// A new generation is current. Returns false if a running exchange would no longer be allowed.
  /// - Parameter index: the listener's, in the new settings; nil: it is no longer configured.
  func configurationChanged(listener index: Int?) -> Bool {
    guard let index else {
      let isRunning = machine.phase == .exchanging
      drain()
      return !isRunning
    }
    machine.listener = index
    if machine.phase == .awaitingUpstream {
      connector?.cancel()
      connector = nil
      generation = worker.generation
      step { machine, output in machine.configurationChanged(worker.generation.snapshot, output: &output) }
      takeOpened()
    }
    return machine.isStillAllowed(by: worker.generation.snapshot)
  }

  /// The time of grace of a revoked exchange is over. It may have ended by itself.
  func cut(ifStillIn old: Generation) {
    guard machine.phase == .exchanging, generation === old else { return }
    step { machine, output in machine.revoked(output: &output) }
    settle()
  }

  func drain() {
    step { machine, output in machine.drain(output: &output) }
    settle()
  }

  // MARK: events in, actions out

  private func step(_ event: (inout ClientConnection, inout Output) -> Void) {
    worker.output.reset()
    event(&machine, &worker.output)
    let nothing: [UInt8] = []
    perform(nothing.span)
  }

  private func feedPending() {
    guard !pending.isEmpty, !isClosed else { return }
    let held = pending
    pending = []
    let used = feed(held.span)
    if used < held.count, !isClosed { pending.append(held.span.extracting(used...)) }
  }

  /// Gives the machine bytes of the client for as long as it takes some. Returns how many it took.
  private func feed(_ input: Span<UInt8>) -> Int {
    var position = 0
    while position < input.count, !isClosed {
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
  private func begin() {
    generation = worker.generation
    startedAt = worker.loop.now
    failureDetail = nil
    if let route = machine.exchange.route,
      let total = generation.snapshot.rules.services[route.service].timeouts.total
    {
      totalBy = startedAt + total
    } else {
      totalBy = .max
    }
  }

  /// Carries out what the machine wants done, in the order that `Actions` lists.
  private func perform(_ input: Span<UInt8>) {
    let actions = worker.output.actions
    if actions.isEmpty { return }
    if actions.contains(.sendHead) {
      if !sendHead(input) { return }
    } else if actions.contains(.sendBody), let upstream {
      if !worker.output.toUpstream.isEmpty {
        let staged = worker.output.toUpstream
        upstream.send(staged.span)
      }
      upstream.send(input.extracting(worker.output.upstreamBody))
    }
    if actions.contains(.sendToClient) { sendToClient(input) }
    if actions.contains(.releaseUpstream) { endUpstream(reuse: true) }
    if actions.contains(.dropUpstream) { endUpstream(reuse: false) }
    if actions.contains(.record) { record() }
    if actions.contains(.openUpstream) { open(fresh: false) }
    if actions.contains(.openFreshUpstream) { open(fresh: true) }
    if actions.contains(.linger) { stream.shutdown() }
    if actions.contains(.reset) { close(reset: true) } else if actions.contains(.close) { close() }
  }

  private func sendToClient(_ input: Span<UInt8>) {
    let staged = worker.output.toClient
    let body = worker.output.clientBody
    if body.isEmpty {
      stream.write(staged.span)
    } else if staged.isEmpty {
      stream.write(input.extracting(body))
    } else {
      stream.write(staged.span, input.extracting(body))
    }
  }

  /// Returns false when the credential could not be written: the machine has been told.
  private func sendHead(_ input: Span<UInt8>) -> Bool {
    guard let upstream else { return true }
    do throws(Denied) {
      let body = worker.output.upstreamBody
      let staged = worker.output.toUpstream
      if staged.isEmpty {
        try upstream.send(
          head: worker.output.upstreamHead, grant: machine.exchange.grant, caller: machine.exchange.caller,
          body: input.extracting(body), keyring: worker.generation.keyring)
      } else {
        try upstream.send(
          head: worker.output.upstreamHead, grant: machine.exchange.grant, caller: machine.exchange.caller,
          body: staged.span, keyring: worker.generation.keyring)
        upstream.send(input.extracting(body))
      }
      return true
    } catch {
      failureDetail = error.description
      worker.journal.denied(error, exchange: machine.exchange, generation: generation)
      step { machine, output in machine.upstreamRefused(error.refusal, output: &output) }
      return false
    }
  }

  // MARK: the upstream session

  private enum Opened {
    case session(UpstreamSession, isReused: Bool)
    case failed(ConnectFailure)
  }

  private var openResult: Opened?

  /// Leaves its result in `openResult` if it is there at once.
  private func open(fresh: Bool) {
    if machine.exchange.snapshot?.generation != worker.generation.snapshot.generation {
      generation = worker.generation
      return step { machine, output in machine.configurationChanged(worker.generation.snapshot, output: &output) }
    }
    guard let route = machine.exchange.route else { return }
    if let grant = machine.exchange.grant, let problem = generation.keyring.status(ofGrant: grant).problem,
      generation.keyring.status(ofGrant: grant).generation == 0
    {
      openResult = .failed(ConnectFailure(.credentialUnavailable, problem))
      return
    }
    do throws(TLSError) {
      let destination = try generation.destination(of: route)
      if !fresh, let idle = destination.takeIdle() {
        idle.taken(by: self)
        openResult = .session(idle, isReused: true)
      } else {
        connect(to: destination, timeouts: generation.snapshot.rules.services[route.service].timeouts)
      }
    } catch {
      openResult = .failed(ConnectFailure(.internalError, error.detail))
    }
  }

  private func connect(to destination: Destination, timeouts: Timeouts) {
    var isInCall = true
    let connector = Connector(destination: destination, timeouts: timeouts, worker: worker) { [unowned self] result in
      self.connector = nil
      let opened: Opened =
        switch result {
        case .success(let session): .session(session, isReused: false)
        case .failure(let failure): .failed(failure)
        }
      openResult = opened
      if !isInCall { takeOpened() }
    }
    self.connector = connector
    connector.start()
    isInCall = false
    if openResult != nil { self.connector = nil }
  }

  /// A session, or the reason why there is none, came on a later turn.
  private func takeOpened() {
    let held = pending
    pending = []
    var position = 0
    while let opened = openResult {
      openResult = nil
      take(opened, held.span, position: &position)
    }
    if position < held.count, !isClosed { pending.append(held.span.extracting(position...)) }
    feedPending()
    settle()
  }

  private func take(_ opened: Opened, _ input: Span<UInt8>, position: inout Int) {
    worker.output.reset()
    switch opened {
    case .session(let session, let isReused):
      upstream = session
      upstreamPending.removeAll(keepingCapacity: true)
      session.owner = self
      machine.upstreamReady(isReused: isReused, input, position: &position, output: &worker.output)
    case .failed(let failure):
      failureDetail = failure.detail
      machine.upstreamRefused(failure.refusal, output: &worker.output)
    }
    perform(input)
  }

  private func endUpstream(reuse: Bool) {
    connector?.cancel()
    connector = nil
    guard let upstream else { return }
    self.upstream = nil
    upstreamPending.removeAll(keepingCapacity: true)
    if reuse { upstream.release() } else { upstream.close() }
  }

  // MARK: flow and time

  /// Back-pressure: neither side is read while the other cannot take more. And the deadline that now runs.
  private func settle() {
    guard !isClosed, !isClosing else { return }
    let wantsClient = machine.wantsClientBytes && pending.isEmpty && (upstream?.queuedBytes ?? 0) == 0
    if wantsClient != isReading {
      isReading = wantsClient
      if wantsClient { stream.startReading() } else { stream.stopReading() }
    }
    upstream?.setReading(stream.queuedBytes == 0)

    // The time to linger begins when the answer is out.
    let deadline = machine.deadline == .linger && stream.queuedBytes > 0 ? Deadline.silence : machine.deadline
    if deadline != lastDeadline || deadline == .silence {
      lastDeadline = deadline
      let due = time(of: deadline).map { worker.loop.now + $0 } ?? .max
      let isRunning = machine.phase == .awaitingUpstream || machine.phase == .exchanging
      worker.deadlines.schedule(self, at: isRunning ? min(due, totalBy) : due)
    }
  }

  private func time(of deadline: Deadline) -> UInt64? {
    let limits = worker.generation.settings.limits
    switch deadline {
    case .idle: return limits.clientIdle
    case .head: return limits.clientHead
    case .none: return nil
    case .linger: return 2_000
    case .responseHead, .silence:
      guard let route = machine.exchange.route else { return limits.clientIdle }
      let timeouts = generation.snapshot.rules.services[route.service].timeouts
      return deadline == .responseHead ? timeouts.responseHead : timeouts.bodySilence
    }
  }

  private func record() {
    worker.journal.exchange(
      machine.exchange, peer: peer, generation: generation, milliseconds: worker.loop.now - startedAt,
      detail: failureDetail)
  }

  /// What is queued goes out first, for as long as the client takes some of it.
  func close(reset: Bool = false) {
    guard !isClosed else { return }
    endUpstream(reuse: false)
    if reset || stream.queuedBytes == 0 { return finishClosing(reset: reset) }
    isClosing = true
    isReading = false
    stream.stopReading()
    worker.deadlines.schedule(self, at: worker.loop.now + worker.generation.settings.limits.clientHead)
  }

  private func finishClosing(reset: Bool = false) {
    guard !isClosed else { return }
    isClosed = true
    worker.deadlines.cancel(self)
    endUpstream(reuse: false)
    if reset { stream.reset() } else { stream.close() }
    worker.ended(self)
  }
}

extension Denied {
  /// The row of our table for a door that stayed shut.
  var refusal: Refusal {
    switch reason {
    case .unavailable: .credentialUnavailable
    case .originNotGranted, .callerNotGranted, .unknownGrant, .wrongSession: .grantDenied
    case .pinsNotMatched: .pinMismatch
    case .sessionFailed: .upstreamClosed
    }
  }
}
