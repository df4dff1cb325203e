package import EventLoop
package import Log
internal import Secrets
package import System
package import TLS

/// The means of everything on one worker's thread: its loop, deadlines, clocks and log, and what its upstream connections share.
package final class WorkerContext {
  package let loop: Loop
  package let deadlines: DeadlineQueue
  let resolver: Resolver
  package let log: EventLog
  /// Asks the kernel who owns a socket; nil: it cannot be asked, and no TCP caller is known.
  package let diagnostics: SocketDiagnostics?
  package let heap: HeapRelief
  /// Counts connections to upstreams.
  let upstreamFlood: Flood
  /// How many workers the process has.
  package let workers: Int
  /// How many connections each upstream pool keeps while no request uses them, and for how many milliseconds.
  private(set) var idleConnections: (count: Int, time: UInt64) = (0, 0)
  /// TCP keep-alive of upstream connections; `nil` if they are not probed.
  package var keepalive: TCPKeepalive?
  /// Closes unused connections: no file descriptor is left.
  package var onDescriptorShortage: () -> Void = {}
  private var clockSteps = ClockSteps()
  /// The one buffer for plaintext, lent within a turn and never across; nil: lent.
  private var plaintext: [UInt8]?

  package init(loop: Loop, log: EventLog, workers: Int) {
    self.loop = loop
    self.log = log
    self.workers = workers
    deadlines = DeadlineQueue(loop: loop)
    resolver = Resolver(loop: loop, limits: Resolver.Limits().shared(by: workers))
    heap = HeapRelief(loop: loop, leastPeak: WorkerContext.share(of: HeapRelief.leastPeak, among: workers))
    upstreamFlood = heap.flood()
    do throws(SystemError) {
      diagnostics = try SocketDiagnostics()
    } catch {
      diagnostics = nil
      log.event(
        .callersUnknown, ("detail", "bearerd refuses every TCP caller: \(error)"),
        ("help", "use a listener at unix:/PATH, or at another address of this machine with clients"))
    }
    _ = moment()
  }

  /// The share of one worker in something that there is so much of in all: together they have no less, and each has some.
  package func share(of all: Int) -> Int { WorkerContext.share(of: all, among: workers) }

  static func share(of all: Int, among workers: Int) -> Int { all == 0 ? 0 : (all - 1) / workers + 1 }

  package func limitIdleConnections(to count: Int, time: UInt64) { idleConnections = (count, time) }

  /// The time by which certificates and pins are judged. Logs when the calendar's clock has been set since the last call (T57).
  package func moment() -> Moment {
    let calendar = Clock.now
    let uptime = Int64(clamping: BootTimer.now)
    let milliseconds = calendar.seconds &* 1_000 &+ calendar.microseconds / 1_000
    let moment = Moment(calendar: calendar.seconds, uptime: uptime / 1_000)
    guard let step = clockSteps.step(calendar: milliseconds, uptime: uptime) else { return moment }
    let seconds = Int64((step.magnitude &+ 500) / 1_000) &* step.signum()
    // Each worker notices it at its next request.
    guard log.share?.isNews("clock", "\(seconds) \(uptime / 60_000)") ?? true else { return moment }
    log.event(
      .clockStepped, ("seconds", String(seconds)),
      ("detail", "bearerd now uses this time for certificates and pins"))
    return moment
  }

  /// An empty buffer with room for all that one read can bring.
  func borrowPlaintext() -> [UInt8] {
    if var taken = plaintext.take() {
      taken.removeAll(keepingCapacity: true)
      return taken
    }
    var made: [UInt8] = []
    made.reserveCapacity(288 * 1024)
    return made
  }

  /// Returns the buffer that `borrowPlaintext` lent.
  /// - Parameter wiped: it held a secret. In its own place: no other handler has it yet.
  func giveBack(_ plaintext: inout [UInt8], wiped: Bool) {
    if wiped { wipe(&plaintext) }
    self.plaintext = plaintext
    plaintext = []
  }

  package func close() {
    deadlines.close()
    heap.close()
  }
}
