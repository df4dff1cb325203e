internal import Admin
internal import Configuration
internal import EventLoop
internal import Gateway
internal import Log
internal import Providers
internal import Proxy
internal import Setup
internal import System

extension Server {
  /// All of it, or nothing changes and the reason is said.
  func use(_ preparation: Preparation, _ answer: @escaping Reloads.Answer) {
    loop.inPieces(preparation.warnings) { [log] in
      Preparation.report($0, to: log)
    } then: { [unowned self] in
      judge(preparation, answer)
    }
  }

  private func judge(_ preparation: Preparation, _ answer: @escaping Reloads.Answer) {
    let workers = preparation.settings.workers.count
    guard workers == sharedState.workers || preparation.settings.workers == worker.providers.generation.settings.workers
    else {
      return answer(
        fail(
          .system("workers: the file has \(workers), but \(sharedState.workers) run. Restart bearerd for this change")))
    }
    // The first one alone ahead of the others: it empties the environment of secrets.
    worker.prepare(preparation, loggedOut: worker.providers.loggedOutMeanwhile) { [unowned self] error in
      if let error { return answer(fail(error)) }
      workerGroup.ask { [loggedOut = worker.providers.loggedOutMeanwhile] worker, reply in
        worker.prepare(preparation, loggedOut: loggedOut, onEnd: reply)
      } then: { [unowned self] (errors: [StartError?]) in
        if case let error?? = errors.first(where: { $0 != nil }) { return answer(fail(error)) }
        guard !worker.isDraining else { return answer(fail(.system("bearerd is stopping"))) }
        do throws(StartError) {
          try adopt(preparation, answer)
        } catch {
          answer(fail(error))
        }
      }
    }
  }

  /// Every worker has its credentials.
  private func adopt(_ preparation: Preparation, _ answer: @escaping Reloads.Answer) throws(StartError) {
    loop.note(.reload)
    let settings = preparation.settings
    let number = worker.providers.generation.snapshot.generation + 1
    try listeners.held.check(settings, preparation.tables.upstreams)
    let new = try listeners.slots(for: settings)
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
    limits.begin()
    let installation = Installation(
      preparation: preparation,
      snapshot: ConfigurationLoader.snapshot(
        of: settings, generation: number, ports: new.map(\.ports), listeners: new.map(\.id),
        tables: preparation.tables.snapshot),
      limits: limits, audit: log.audit, requiredAudit: log.requiredAudit)
    workerGroup.tell { $0.install(installation) }
    listeners.acceptor.listen(on: new)
    worker.install(installation)
    do throws(UVError) {
      for slot in added { try slot.start() }
    } catch {
      log.event(.listenFailed, ("detail", error.description))
    }
    for slot in added { slot.announce(in: log) }
    listeners.held.closeUnclaimed(by: settings, log: log)
    let unreported = worker.providers.generation.keyring.unreported
    services.follow(worker.providers.generation)
    loop.inPieces(preparation.reachChanges) { [log] in
      CredentialReach.report($0, in: log)
    } then: { [unowned self, generation = worker.providers.generation] in
      generation.keyring.reportLocks(to: log)
      loop.inPieces(unreported) { [log] in
        generation.keyring.report($0, to: log, of: generation)
      } then: { [unowned self] in
        settle(preparation, number, answer)
      }
    }
  }

  private func settle(_ preparation: Preparation, _ number: UInt64, _ answer: @escaping Reloads.Answer) {
    // They do what they are told in its order: who replies to this has installed it.
    workerGroup.ask { _, reply in
      reply(true)
    } then: { [unowned self] (_: [Bool]) in
      audit.settle()
      worker.lifetime.reloaded(problem: nil)
      log.event(.reloaded, ("generation", String(number)))
      reportSystemd(preparation.tables.systemdCredentials)
      ServiceManager.notify("READY=1\nSTATUS=serving, generation \(number)")
      answer(.success(number))
    }
  }

  /// The reload has read what is in the unit's directory. systemd writes that when it starts the unit; whether it also does so
  /// later depends on its version.
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
    workerGroup.tell { $0.discardPrepared() }
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
