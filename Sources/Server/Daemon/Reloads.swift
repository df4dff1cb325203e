internal import Configuration
internal import EventLoop
internal import Lifecycle
internal import Log
internal import Providers
internal import Proxy
internal import Generations
internal import Loading
internal import StatusModel
internal import System
internal import Transport

/// Reloads the configuration. Reads it on a background thread (T55), and lets the server prepare and apply it.
final class Reloads: ReloadTarget {
  typealias Completion = ReloadSteps<Reloads>.Completion

  private unowned let server: Server
  private let blocking: BlockingTasks
  private lazy var steps = ReloadSteps(self)
  private var step = LoadingStep()
  private var limit: Timer?
  /// Milliseconds after which a reload fails if the configuration is still being read.
  var timeout: UInt64 = 30_000

  init(server: Server) {
    self.server = server
    blocking = BlockingTasks(loop: server.loop)
    limit = Timer(loop: server.loop) { [unowned self] in steps.giveUp() }
  }

  /// Starts a reload, or another one after that in progress. Calls `completion` once, possibly before it returns.
  func request(_ completion: @escaping Completion) { steps.request(completion) }

  func close() {
    limit?.close()
    limit = nil
    blocking.close()
  }

  var isStopping: Bool { server.worker.isDraining }
  var stopping: StartError { .system("bearerd is stopping") }
  var stillReading: StartError { .system("the configuration is still being read: \(step.name)") }

  func read(_ onEnd: @escaping (Result<Preparation, StartError>) -> Void) {
    let worker = server.worker
    worker.providers.loggedOutSinceReload = []
    ServiceManager.notify("RELOADING=1")
    limit?.start(after: timeout)
    let (file, privateUse, probe, step) = (server.listeners.file, server.privateUse, server.probe, LoadingStep())
    let audited = server.audit.file
    let before = PreparedTables.Former(
      settings: worker.providers.generation.settings, limits: worker.providers.generation.limits)
    self.step = step
    blocking.run {
      Result { () throws(StartError) in
        try Preparation(file: file, privateUse: privateUse, audited: audited, before: before, probe: probe, step: step)
      }
    } onEnd: { [unowned self] result in
      limit?.stop()
      onEnd(result ?? .failure(.system("bearerd cannot start a thread to read the configuration")))
    }
  }

  func prepareFirst(_ plan: Preparation, _ onEnd: @escaping (StartError?) -> Void) {
    server.prepareFirst(plan, onEnd)
  }

  func prepareOthers(_ plan: Preparation, _ onEnd: @escaping (StartError?) -> Void) {
    server.prepareOthers(plan, onEnd)
  }

  func discardPrepared() { server.discardPrepared() }
  func apply(_ plan: Preparation) throws(StartError) { try server.apply(plan) }
  func confirm(_ plan: Preparation, _ onEnd: @escaping (UInt64) -> Void) { server.confirm(plan, onEnd) }
  func report(_ failure: StartError) { server.reloadFailed(failure) }

  func reportLateRead() {
    server.log.event(
      .configurationReadable, ("detail", "reading the configuration took too long, so this reload did not use it"),
      ("help", "reload again"))
  }
}
