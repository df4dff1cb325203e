package import EventLoop
package import Gateway
package import Log
internal import Secrets
internal import StatusModel
package import System
package import TLS

/// The loop, deadlines, clocks and log of one worker, and the state that its upstream connections share.
package final class WorkerContext {
  package let loop: Loop
  package let deadlines: DeadlineQueue
  let resolver: Resolver
  package let log: EventLog
  /// Asks the kernel which user owns a socket. `nil` if the kernel refuses such queries.
  package let diagnostics: SocketDiagnostics?
  package let heapTrimmer: HeapTrimmer
  let upstreamSpikes: SpikeDetector
  package let workers: Int
  /// How many connections each upstream pool keeps for the full idle time, and this time in milliseconds.
  private(set) var idleConnections: (count: Int, time: UInt64) = (0, 0)
  /// TCP keep-alive settings of upstream connections. `nil` if keep-alive is off.
  package var keepalive: TCPKeepalive?
  /// How new HTTP/2 connections to upstreams are used.
  package var http2 = UpstreamHTTP2()
  /// Called when no file descriptor is left, to close unused connections.
  package var onDescriptorShortage: () -> Void = {}
  /// Reports a failed verification of a service's upstream. `nil` if the configuration has no `reports`.
  package var onVerificationFailure: ((VerificationFailure) -> Void)?
  private var clockSteps = ClockSteps()
  /// The connections that send at the end of this turn of the loop.
  private var sending: [UpstreamConnection] = []
  /// The buffer that `borrowPlaintext` lends. `nil` while it is lent.
  private var plaintext: [UInt8]?

  package init(loop: Loop, log: EventLog, workers: Int) {
    self.loop = loop
    self.log = log
    self.workers = workers
    deadlines = DeadlineQueue(loop: loop)
    resolver = Resolver(loop: loop, limits: Resolver.Limits().shared(by: workers))
    heapTrimmer = HeapTrimmer(
      loop: loop, minimumPeak: WorkerContext.share(of: HeapTrimmer.defaultMinimumPeak, among: workers))
    upstreamSpikes = heapTrimmer.makeSpikeDetector()
    do throws(SystemError) {
      diagnostics = try SocketDiagnostics()
    } catch {
      diagnostics = nil
      log.event(
        .callersUnknown, ("detail", "bearerd refuses every TCP caller: \(error)"),
        ("help", "use a listener at unix:/PATH, or at another address of this machine with clients"))
    }
    _ = moment()
    // Not weak: each later retain of an object with weak references is slow.
    loop.onTurnEnd = { [unowned self] in turnEnded() }
  }

  /// Returns one worker's share of `all`, rounded up.
  package func share(of all: Int) -> Int { WorkerContext.share(of: all, among: workers) }

  static func share(of all: Int, among workers: Int) -> Int { all == 0 ? 0 : (all - 1) / workers + 1 }

  package func limitIdleConnections(to count: Int, time: UInt64) { idleConnections = (count, time) }

  /// Returns the time for checking certificates and pins. Logs if the wall clock was set since the last call (T57).
  package func moment() -> Moment {
    let calendar = Clock.now
    let uptime = Int64(clamping: BootTimer.now)
    let milliseconds = calendar.seconds &* 1_000 &+ calendar.microseconds / 1_000
    let moment = Moment(calendar: calendar.seconds, uptime: uptime / 1_000)
    guard let step = clockSteps.step(calendar: milliseconds, uptime: uptime) else { return moment }
    let seconds = Int64((step.magnitude &+ 500) / 1_000) &* step.signum()
    // Each worker detects the step at its next request. Only the first one logs it.
    guard log.sink?.recordIfChanged("clock", "\(seconds) \(uptime / 60_000)") ?? true else { return moment }
    log.event(
      .clockStepped, ("seconds", String(seconds)),
      ("detail", "bearerd now uses this time for certificates and pins"))
    return moment
  }

  /// Lends an empty buffer with room for the plaintext of one read.
  func borrowPlaintext() -> [UInt8] {
    if var buffer = plaintext.take() {
      buffer.removeAll(keepingCapacity: true)
      return buffer
    }
    var buffer: [UInt8] = []
    buffer.reserveCapacity(288 * 1024)
    return buffer
  }

  /// Takes back the buffer that `borrowPlaintext` has lent.
  /// - Parameter wiped: whether to wipe the buffer.
  func returnPlaintext(_ plaintext: inout [UInt8], wiped: Bool) {
    if wiped { wipe(&plaintext) }
    self.plaintext = plaintext
    plaintext = []
  }

  /// Calls `turnEnded` of the connection at the end of this turn of the loop.
  func flushAtTurnEnd(_ connection: UpstreamConnection) { sending.append(connection) }

  /// Call this at the end of each turn of the loop, after all requests of the turn. A `Worker` calls it.
  package func turnEnded() {
    if sending.isEmpty { return }
    var index = 0  // `sending` can grow during the loop
    while index < sending.count {
      sending[index].turnEnded()
      index += 1
    }
    sending.removeAll(keepingCapacity: true)
  }

  package func close() {
    loop.onTurnEnd = nil
    sending = []
    deadlines.close()
    heapTrimmer.close()
  }
}
