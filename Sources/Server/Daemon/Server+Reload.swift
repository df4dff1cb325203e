internal import Configuration
internal import EventLoop
internal import Gateway
internal import Log
internal import Providers
internal import Proxy
internal import Settings
internal import Generations
internal import Loading
internal import StatusModel
internal import System

// The steps of a reload, in the order of `ReloadSteps`.
extension Server {
  /// Logs the warnings about a configuration, and lets the first worker prepare it. This worker prepares before the
  /// others, because it removes secrets from the environment.
  func prepareFirst(_ preparation: Preparation, _ onEnd: @escaping (StartError?) -> Void) {
    loop.runIncrementally(preparation.warnings) { [log] in
      Preparation.report($0, to: log)
    } then: { [unowned self] in
      let workers = preparation.settings.workers.count
      guard
        workers == sharedState.workers || preparation.settings.workers == worker.providers.generation.settings.workers
      else {
        return onEnd(
          .system("workers: the file has \(workers), but \(sharedState.workers) run. Restart bearerd for this change"))
      }
      worker.prepare(preparation, loggedOut: worker.providers.loggedOutSinceReload, onEnd: onEnd)
    }
  }

  func prepareOthers(_ preparation: Preparation, _ onEnd: @escaping (StartError?) -> Void) {
    workerGroup.ask { [loggedOut = worker.providers.loggedOutSinceReload] worker, reply in
      worker.prepare(preparation, loggedOut: loggedOut, onEnd: reply)
    } then: { (errors: [StartError?]) in
      onEnd(errors.compactMap(\.self).first)
    }
  }

  /// Uses the configuration that all workers have prepared, or changes nothing and throws.
  func apply(_ preparation: Preparation) throws(StartError) {
    loop.renameStep(.reload)
    let settings = preparation.settings
    let number = worker.providers.generation.snapshot.generation + 1
    try listeners.inherited.check(settings, preparation.tables.upstreams)
    let new = try listeners.makeListeners(for: settings)
    do throws(StartError) {
      try audit.adopt(preparation.audit)
    } catch {
      listeners.close(new)
      throw error
    }
    let added = listeners.adopt(new, settings)
    let limits =
      preparation.tables.limits
      ?? SharedLimits(settings, after: worker.providers.generation.limits, lock: sharedState.lock)
    limits.activate()
    let installation = Installation(
      preparation: preparation,
      snapshot: ConfigurationLoader.snapshot(
        of: settings, generation: number, ports: new.map(\.ports), listeners: new.map(\.id),
        tables: preparation.tables.snapshot),
      limits: limits, audit: log.audit, requiredAudit: log.requiredAudit)
    workerGroup.post { $0.install(installation) }
    listeners.acceptor.listen(on: new)
    worker.install(installation)
    do throws(UVError) {
      for bound in added { try bound.start() }
    } catch {
      log.event(.listenFailed, ("detail", error.description))
    }
    for bound in added { bound.announce(in: log) }
    listeners.inherited.closeUnclaimed(by: settings, log: log)
  }

  /// Lets the other parts of the daemon follow, and waits until all workers use the configuration.
  func confirm(_ preparation: Preparation, _ onEnd: @escaping (UInt64) -> Void) {
    let unreported = worker.providers.generation.keyring.unreported
    services.update(to: worker.providers.generation)
    loop.runIncrementally(preparation.reachChanges) { [log] in
      CredentialReach.report($0, in: log)
    } then: { [unowned self, generation = worker.providers.generation] in
      generation.keyring.reportLocks(to: log)
      loop.runIncrementally(unreported) { [log] in
        generation.keyring.report($0, to: log, of: generation)
      } then: { [unowned self] in
        finishReload(preparation, onEnd)
      }
    }
  }

  private func finishReload(_ preparation: Preparation, _ onEnd: @escaping (UInt64) -> Void) {
    // Workers process messages in order. After the replies, all workers have installed the configuration.
    workerGroup.ask { _, reply in
      reply(true)
    } then: { [unowned self] (_: [Bool]) in
      let number = worker.providers.generation.snapshot.generation
      audit.closeRetired()
      worker.lifetime.reloaded(problem: nil)
      log.event(.reloaded, ("generation", String(number)))
      reportSystemd(preparation.tables.systemdCredentials)
      ServiceManager.notify("READY=1\nSTATUS=serving, generation \(number)")
      onEnd(number)
    }
  }

  /// Logs that credentials from systemd can be outdated.
  private func reportSystemd(_ names: [String]) {
    if names.isEmpty { return }
    log.event(
      .systemdCredentials, ("credentials", names.joined(separator: " ")),
      (
        "detail",
        "read again, but systemd may still have the values from the start of the unit. Restart bearerd if they have changed"
      ))
  }

  func discardPrepared() {
    worker.discardPrepared()
    workerGroup.post { $0.discardPrepared() }
  }

  func reloadFailed(_ error: StartError) {
    let number = worker.providers.generation.snapshot.generation
    error.report(to: log)
    worker.lifetime.reloaded(problem: error.summary)
    log.event(.reloadFailed, ("detail", error.summary), ("still", "generation \(number)"))
    ServiceManager.notify("READY=1\nSTATUS=reload failed, still serving generation \(number)")
  }
}
