internal import EventLoop
internal import Gateway
internal import Generations
internal import Log
internal import Policy
internal import Settings
internal import StatusModel
internal import System
internal import TLS
internal import Transport

/// Sends the reports of a worker, each over a connection of its own and only once.
final class ReportSender: DeadlineOwner, UpstreamRunDelegate {
  private let context: WorkerContext
  /// The failures that any worker has reported.
  private let history: Guarded<ReportHistory>
  private var generation: Generation?
  private var queue = ReportQueue()
  private var connector: Connector?
  private var connection: UpstreamConnection?
  /// The request in progress.
  private var request: [UInt8] = []
  private var response = ReportResponse()

  /// Maximum milliseconds for connecting, the request and its response together.
  private static let timeout: UInt64 = 10_000

  init(context: WorkerContext, history: Guarded<ReportHistory>) {
    self.context = context
    self.history = history
    super.init()
  }

  var counts: ReportQueue.Counts { queue.counts }

  /// Adopts a configuration. If `reports` has changed, nothing is sent to the former server any more.
  func update(to generation: Generation) {
    let settings = generation.settings.reports
    if let former = self.generation?.settings.reports, former != settings { stop() }
    self.generation = generation
    if settings == nil {
      context.onVerificationFailure = nil
    } else {
      context.onVerificationFailure = { [unowned self] failure in add(failure) }
    }
  }

  private func add(_ failure: VerificationFailure) {
    guard let host = generation?.settings.reports?.url.origin.host else { return }
    let history = history
    let isAdded = queue.add(failure, reportHost: host) {
      history.withLock { $0.add(failure.key, at: BootTimer.now) }
    }
    // Later, so that the request whose connection failed does not wait.
    if isAdded, !queue.isSending { context.deadlines.schedule(self, at: context.loop.now) }
  }

  override func deadlinePassed() {
    if queue.isSending { end("it did not respond within \(Self.timeout / 1_000) s") } else { sendNext() }
  }

  private func sendNext() {
    guard let generation, let settings = generation.settings.reports, let failure = queue.next() else { return }
    context.deadlines.schedule(self, at: context.loop.now &+ Self.timeout)
    do throws(TLSError) {
      guard let pool = try generation.makeReportPool() else { return end("there is no report server") }
      request = VerificationReport.request(failure, to: settings.url, at: Clock.now.seconds)
      response = ReportResponse()
      connect(to: pool)
    } catch {
      end(error.description)
    }
  }

  private func connect(to pool: UpstreamPool) {
    let connector = Connector(pool: pool, timeout: Self.timeout, context: context) { [unowned self] result in
      self.connector = nil
      switch result {
      case .success(let connection): send(over: connection)
      case .failure(let failure): end("\(failure.refusal.code.row.code): \(failure.detail)")
      }
    }
    self.connector = connector
    connector.start()
  }

  private func send(over connection: UpstreamConnection) {
    self.connection = connection
    connection.begin(self)
    let bytes = request
    connection.send(bytes.span)
  }

  /// Ends the report in progress.
  /// - Parameter problem: why the server did not get the report. `nil` if it accepted the report.
  private func end(_ problem: String?) {
    guard queue.isSending else { return }
    close(isSent: problem == nil)
    if !queue.isEmpty { context.deadlines.schedule(self, at: context.loop.now) }
    guard let server = generation?.settings.reports?.url.origin.description,
      context.log.sink?.recordIfChanged("report \(server)", problem ?? "") ?? true, let problem
    else { return }
    context.log.event(.reportFailed, ("to", server), ("detail", problem))
  }

  private func close(isSent: Bool) {
    context.deadlines.cancel(self)
    connector?.cancel()
    connector = nil
    connection?.close()
    connection = nil
    request = []
    queue.finished(isSent: isSent)
  }

  /// Cancels the report in progress, and removes the waiting reports.
  private func stop() {
    close(isSent: false)
    queue.removeAll()
  }

  func close() {
    context.onVerificationFailure = nil
    stop()
    generation = nil
  }

  // MARK: connection events

  func connection(_ connection: UpstreamConnection, didReceive plaintext: Span<UInt8>) {
    guard connection === self.connection else { return }
    switch response.receive(plaintext) {
    case .needsMore: break
    case .accepted: end(nil)
    case .refused(let problem): end(problem)
    }
  }

  func connectionEnded(_ connection: UpstreamConnection, isClean: Bool) {
    if connection === self.connection { end("it closed the connection without a response") }
  }

  func connection(_ connection: UpstreamConnection, didFail refusal: RefusalCode, detail: String) {
    if connection === self.connection { end("\(refusal.row.code): \(detail)") }
  }

  func connectionDidDrain(_ connection: UpstreamConnection) {}
}
