internal import Configuration
internal import EventLoop
internal import Lifecycle
internal import Log
internal import Providers
internal import Proxy
internal import Settings
internal import Generations
internal import Loading
internal import StatusModel
internal import System
internal import Transport

/// Reloads the configuration on a background thread (T55).
final class Reloads {
  typealias Completion = (Result<UInt64, StartError>) -> Void

  private let file: String
  private let privateUse: PrivateUse?
  private let audit: AuditTrail
  private let probe: FileProbe
  private let worker: Worker
  private let blocking: BlockingTasks
  private var queue = ReloadQueue<Completion>()
  private var step = LoadingStep()
  private var limit: Timer?
  /// Milliseconds after which a reload fails if the configuration is still being read.
  var timeout: UInt64 = 30_000
  /// Applies a configuration completely or not at all, and calls `completion` once.
  private let use: (Preparation, @escaping Completion) -> Void
  private let onFailure: (StartError) -> Void

  init(
    file: String, privateUse: PrivateUse?, audit: AuditTrail, probe: FileProbe, worker: Worker,
    use: @escaping (Preparation, @escaping Completion) -> Void,
    onFailure: @escaping (StartError) -> Void
  ) {
    self.file = file
    self.privateUse = privateUse
    self.audit = audit
    self.probe = probe
    self.worker = worker
    self.use = use
    self.onFailure = onFailure
    blocking = BlockingTasks(loop: worker.loop)
    limit = Timer(loop: worker.loop) { [unowned self] in giveUp() }
  }

  /// Starts a reload, or another one after that in progress. Calls `completion` once, possibly before it returns.
  func request(_ completion: @escaping Completion) {
    guard !worker.isDraining else { return completion(.failure(.system("bearerd is stopping"))) }
    switch queue.ask(completion) {
    case .begin: begin()
    case .wait: break
    case .refused: completion(fail(stillReading))
    }
  }

  func close() {
    limit?.close()
    limit = nil
    blocking.close()
  }

  private func begin() {
    worker.providers.loggedOutSinceReload = []
    ServiceManager.notify("RELOADING=1")
    limit?.start(after: timeout)
    let (file, privateUse, audited, probe, step) = (file, privateUse, audit.file, probe, LoadingStep())
    let before = PreparedTables.Former(
      settings: worker.providers.generation.settings, limits: worker.providers.generation.limits)
    self.step = step
    blocking.run {
      Result { () throws(StartError) in
        try Preparation(file: file, privateUse: privateUse, audited: audited, before: before, probe: probe, step: step)
      }
    } onEnd: { [unowned self] result in
      prepared(result ?? .failure(.system("bearerd cannot start a thread to read the configuration")))
    }
  }

  private func prepared(_ result: Result<Preparation, StartError>) {
    limit?.stop()
    guard !queue.isGivenUp, !worker.isDraining else { return end(.failure(.system("bearerd is stopping"))) }
    switch result {
    case .success(let preparation): use(preparation) { [unowned self] in end($0) }
    case .failure(let error): end(fail(error))
    }
  }

  private func end(_ result: Result<UInt64, StartError>) {
    guard let ended = queue.end() else {
      worker.log.event(
        .configurationReadable, ("detail", "reading the configuration took too long, so this reload did not use it"),
        ("help", "reload again"))
      return
    }
    for completion in ended.waiters { completion(result) }
    if ended.begins { begin() }
  }

  private func giveUp() {
    let waiters = queue.giveUp()
    let result = fail(stillReading)
    for completion in waiters { completion(result) }
  }

  private var stillReading: StartError { .system("the configuration is still being read: \(step.name)") }

  private func fail(_ error: StartError) -> Result<UInt64, StartError> {
    onFailure(error)
    return .failure(error)
  }
}
