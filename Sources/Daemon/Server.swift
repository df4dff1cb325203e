internal import Configuration
internal import Credentials
internal import EventLoop
internal import Gateway
internal import System
internal import TLS

/// The daemon as a whole: one worker, its listeners, and what starts, reloads and ends them.
package final class Server {
  private let file: String
  private let loop: Loop
  private let worker: Worker
  private let reception: Reception
  private let journal: Journal
  private let commons = Commons()
  private let commandSecrets = CommandSecrets()
  private let firstSecrets: FirstSecrets
  private let looks = FileLooks()
  private let unanswered: Set<SecretSource>
  private let held: HeldSockets
  private var slots: [ListenerSlot]
  private var lifecycle: Lifecycle?
  private var watch: SecretWatch?
  private var commands: SecretCommands?
  private var control: ControlSocket?
  private let audit: AuditTrail
  /// Seconds for which a start waits for the files that the configuration names.
  private static let startPatience = 20
  private var reloads: Reloads?

  /// Reads the configuration and opens every listener; nothing is served before `run`.
  package init(file: String, held: HeldSockets) throws(StartError) {
    self.file = file
    self.held = held
    journal = Journal(hasPriorities: ServiceManager.isJournalStream)
    let preparation = try Preparation.atStart(file: file, seconds: Server.startPatience, looks: looks)
    let settings = preparation.settings
    preparation.report(to: journal)
    unanswered = ConfigurationLoader.unanswered(in: preparation)
    firstSecrets = FirstSecrets(
      ConfigurationLoader.secretFiles(of: settings), unanswered: unanswered, journal: journal)
    do throws(UVError) { loop = try Loop() } catch { throw .system(error.description) }
    audit = AuditTrail(loop: loop, journal: journal)
    try held.check(settings)
    var sockets: [ListenerSockets] = []
    let generation: Generation
    do throws(StartError) {
      for listener in settings.listeners {
        sockets.append(try ListenerSockets(listener, held: held, file: file, loop: loop))
      }
      generation = try Server.generation(
        preparation, number: 1, ports: sockets.map(\.ports), commands: commandSecrets, files: firstSecrets.files,
        pending: firstSecrets.changing, commons: commons, after: nil)
      try audit.adopt(preparation.audit)
    } catch {
      for opened in sockets { opened.close() }
      throw error
    }
    let worker = Worker(loop: loop, journal: journal, commons: commons, generation: generation)
    self.worker = worker
    let reception = Reception(worker: worker)
    self.reception = reception
    slots = sockets.enumerated().map { reception.slot($1, index: $0) }
    let affordable = Reception.affordable(settings.limits.connections, journal: journal)
    worker.listen(on: slots, of: reception, affordable: affordable)
  }

  /// Serves until SIGTERM or SIGINT, and until what was under way then has ended or its time is over. Is ready when all
  /// listeners accept: requests wait for a command that has not given its secret yet.
  package func run() throws(StartError) {
    worker.generation.keyring.report(to: journal, of: worker.generation)
    watch = SecretWatch(worker: worker, first: firstSecrets, unanswered: unanswered)
    worker.secrets = watch
    watch?.begin(worker.generation, after: firstSecrets)
    let reloads = Reloads(
      file: file, audit: audit, looks: looks, worker: worker, use: { [unowned self] in use($0, $1) },
      onFailure: { [unowned self] in reloadFailed($0) })
    self.reloads = reloads
    control = ControlSocket(
      loop: loop, journal: journal,
      commands: [
        "reload": { answer in reloads.ask { answer($0.map { Array("\($0)\n".utf8) }) } },
        "status": { [worker] answer in answer(.success(StatusReport.bytes(of: worker, WorkerCounts(of: worker)))) },
        "metrics": { [worker] answer in answer(.success(MetricsReport.bytes(of: worker, WorkerCounts(of: worker)))) },
      ].merging(DebugCommands.of(worker, reloads)) { $1 })
    control?.follow(worker.generation.settings)
    lifecycle = try Lifecycle(loop: loop, reload: { reloads.ask { _ in } }, stop: { [unowned self] in stop() })
    do throws(UVError) {
      for slot in slots { try slot.start() }
    } catch {
      throw .system(error.description)
    }
    for slot in slots { slot.announce(in: journal) }
    held.closeUnclaimed(by: worker.generation.settings, journal: journal)
    commands = try SecretCommands(worker: worker, secrets: commandSecrets)
    worker.commands = commands
    commands?.follow(worker.generation)
    journal.event(.notice, "ready", ("version", Version.text), ("configuration", file))
    ServiceManager.notify("READY=1\nSTATUS=serving, generation \(worker.generation.snapshot.generation)")
    loop.run()
    journal.flush()
  }

  // MARK: reload

  /// Its secrets are read, then it is put into use.
  private func use(_ preparation: Preparation, _ answer: @escaping Reloads.Answer) {
    preparation.report(to: journal)
    guard let watch else { return answer(swap(preparation)) }
    let files = ConfigurationLoader.secretFiles(of: preparation.settings)
    watch.read(files, unanswered: ConfigurationLoader.unanswered(in: preparation)) { [unowned self] in
      // Meanwhile it may have been stopped.
      answer(worker.isDraining ? .failure(.system("bearerd is stopping")) : swap(preparation))
    }
  }

  /// All of it, or nothing changes and the reason is said.
  private func swap(_ preparation: Preparation) -> Result<UInt64, StartError> {
    let settings = preparation.settings
    let number = worker.generation.snapshot.generation + 1
    do throws(StartError) {
      try held.check(settings)
      let new = try slots(for: settings)
      let generation: Generation
      do throws(StartError) {
        generation = try Server.generation(
          preparation, number: number, ports: new.map(\.ports), commands: commandSecrets, files: firstSecrets.files,
          pending: watch?.pending ?? [], commons: commons, after: worker.generation)
        try audit.adopt(preparation.audit)
      } catch {
        for slot in new where !slots.contains(where: { $0 === slot }) { slot.close() }
        throw error
      }
      let added = new.filter { slot in !slots.contains { $0 === slot } }
      slots = new
      for (index, slot) in new.enumerated() { slot.follow(settings.listeners[index], index: index) }
      CredentialReach.report(from: worker.generation.settings, to: settings, in: journal)
      reception.listen(on: new)
      worker.adopt(generation, entrances: new.map(\.entrance))
      do throws(UVError) {
        for slot in added { try slot.start() }
      } catch {
        journal.event(.error, "listen-failed", ("detail", error.description))
      }
      for slot in added { slot.announce(in: journal) }
      held.closeUnclaimed(by: settings, journal: journal)
      generation.keyring.report(to: journal, of: generation)
      watch?.follow(generation)
      commands?.follow(generation)
      control?.follow(settings)
      worker.lifetime.reloaded(problem: nil)
      journal.event(.notice, "reloaded", ("generation", String(number)))
      ServiceManager.notify("READY=1\nSTATUS=serving, generation \(number)")
      return .success(number)
    } catch {
      watch?.follow(worker.generation)
      reloadFailed(error)
      return .failure(error)
    }
  }

  private func reloadFailed(_ error: StartError) {
    let number = worker.generation.snapshot.generation
    error.report(to: journal)
    worker.lifetime.reloaded(problem: error.summary)
    journal.event(.error, "reload-failed", ("detail", error.summary), ("still", "generation \(number)"))
    ServiceManager.notify("READY=1\nSTATUS=reload failed, still serving generation \(number)")
  }

  /// Listeners that stay as they are keep their sockets.
  private func slots(for settings: Settings) throws(StartError) -> [ListenerSlot] {
    var result: [ListenerSlot] = []
    do throws(StartError) {
      for (index, listener) in settings.listeners.enumerated() {
        let free = slots.filter { slot in !result.contains { $0 === slot } }
        let kept = free.first { $0.name == listener.name && $0.stands(at: listener.addresses) }
        // Only ports that the system chooses can be meant by two; each keeps its own.
        let renamed = free.first { slot in
          slot.stands(at: listener.addresses)
            && !settings.listeners.contains { $0.name == slot.name && slot.stands(at: $0.addresses) }
        }
        if let kept = kept ?? renamed {
          result.append(kept)
        } else {
          try refuseOwnAddresses(listener)
          let sockets = try ListenerSockets(listener, held: held, file: file, loop: loop)
          result.append(reception.slot(sockets, index: index))
        }
      }
      return result
    } catch {
      for slot in result where !slots.contains(where: { $0 === slot }) { slot.close() }
      throw error
    }
  }

  /// A socket of ours would be in the way of a new one of ours.
  private func refuseOwnAddresses(_ listener: ListenerSettings) throws(StartError) {
    for slot in slots where slot.shares(listener.addresses) {
      throw .system(
        "listener \(listener.name): its address is in use by our own listener \(slot.name), which is another now: restart bearerd for this change"
      )
    }
  }

  // MARK: the end

  private func stop() {
    guard !worker.isDraining else { return finish() }
    ServiceManager.notify("STOPPING=1")
    commands?.stop()
    journal.event(.notice, "stopping", ("connections", String(worker.sessionCount)))
    lifecycle?.startDrain(limit: worker.limits.drain) { [unowned self] in finish() }
    worker.onDrained = { [unowned self] in finish() }
    worker.drain()
  }

  private func finish() {
    worker.onDrained = nil
    journal.event(.notice, "stopped", ("cut", String(worker.sessionCount)))
    worker.close()
    audit.close()
    control?.close()
    watch?.close()
    commands?.close()
    reloads?.close()
    lifecycle?.close()
    loop.stop()
  }

  // MARK: making a generation

  private static func generation(
    _ preparation: Preparation, number: UInt64, ports: [[UInt16]], commands: CommandSecrets, files: SecretFiles,
    pending: Set<SecretSource>, commons: Commons, after previous: Generation?
  ) throws(StartError) -> Generation {
    let settings = preparation.settings
    let keyring: Keyring
    do throws(Denied) {
      keyring = try ConfigurationLoader.keyring(
        for: settings, commands: commands, files: files, pending: pending, after: previous?.keyring)
    } catch {
      throw .system(error.description)
    }
    let snapshot = ConfigurationLoader.snapshot(of: settings, generation: number, ports: ports)
    let limits = SharedLimits(settings, after: previous?.limits, lock: commons.lock)
    return Generation(
      settings: settings, snapshot: snapshot, keyring: keyring, trust: preparation.trust, limits: limits,
      after: previous)
  }
}
