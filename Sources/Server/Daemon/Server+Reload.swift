internal import Admin
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

extension Server {
  /// Applies a configuration completely, or changes nothing and reports the reason.
  func use(_ preparation: Preparation, _ completion: @escaping Reloads.Completion) {
    loop.runIncrementally(preparation.warnings) { [log] in
      Preparation.report($0, to: log)
    } then: { [unowned self] in
      prepareWorkers(preparation, completion)
    }
  }

  private func prepareWorkers(_ preparation: Preparation, _ completion: @escaping Reloads.Completion) {
    let workers = preparation.settings.workers.count
    guard workers == sharedState.workers || preparation.settings.workers == worker.providers.generation.settings.workers
    else {
      return completion(
        fail(
          .system("workers: the file has \(workers), but \(sharedState.workers) run. Restart bearerd for this change")))
    }
    // The first worker prepares before the others, because it removes secrets from the environment.
    worker.prepare(preparation, loggedOut: worker.providers.loggedOutSinceReload) { [unowned self] error in
      if let error { return completion(fail(error)) }
      workerGroup.ask { [loggedOut = worker.providers.loggedOutSinceReload] worker, reply in
        worker.prepare(preparation, loggedOut: loggedOut, onEnd: reply)
      } then: { [unowned self] (errors: [StartError?]) in
        if case let error?? = errors.first(where: { $0 != nil }) { return completion(fail(error)) }
        guard !worker.isDraining else { return completion(fail(.system("bearerd is stopping"))) }
        do throws(StartError) {
          try adopt(preparation, completion)
        } catch {
          completion(fail(error))
        }
      }
    }
  }

  private func adopt(_ preparation: Preparation, _ completion: @escaping Reloads.Completion) throws(StartError) {
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
    let unreported = worker.providers.generation.keyring.unreported
    services.update(to: worker.providers.generation)
    loop.runIncrementally(preparation.reachChanges) { [log] in
      CredentialReach.report($0, in: log)
    } then: { [unowned self, generation = worker.providers.generation] in
      generation.keyring.reportLocks(to: log)
      loop.runIncrementally(unreported) { [log] in
        generation.keyring.report($0, to: log, of: generation)
      } then: { [unowned self] in
        finishReload(preparation, number, completion)
      }
    }
  }

  private func finishReload(_ preparation: Preparation, _ number: UInt64, _ completion: @escaping Reloads.Completion) {
    // Workers process messages in order. After the replies, all workers have installed the configuration.
    workerGroup.ask { _, reply in
      reply(true)
    } then: { [unowned self] (_: [Bool]) in
      audit.closeRetired()
      worker.lifetime.reloaded(problem: nil)
      log.event(.reloaded, ("generation", String(number)))
      reportSystemd(preparation.tables.systemdCredentials)
      ServiceManager.notify("READY=1\nSTATUS=serving, generation \(number)")
      completion(.success(number))
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

  private func fail(_ error: StartError) -> Result<UInt64, StartError> {
    worker.discardPrepared()
    workerGroup.post { $0.discardPrepared() }
    if !worker.isDraining { reloadFailed(error) }
    return .failure(error)
  }

  func reloadFailed(_ error: StartError) {
    let number = worker.providers.generation.snapshot.generation
    error.report(to: log)
    worker.lifetime.reloaded(problem: error.summary)
    log.event(.reloadFailed, ("detail", error.summary), ("still", "generation \(number)"))
    ServiceManager.notify("READY=1\nSTATUS=reload failed, still serving generation \(number)")
  }
}
