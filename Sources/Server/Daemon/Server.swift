internal import Admin
package import Configuration
internal import Credentials
package import EventLoop
internal import Gateway
package import Log
internal import Providers
package import Proxy
internal import Secrets
package import Settings
internal import Generations
internal import Loading
internal import StatusModel
internal import System

/// The daemon: the first worker and the listeners. Starts, reloads and stops them.
package final class Server {
  package let loop: Loop
  let worker: Worker
  let log: EventLog
  let sharedState: SharedState
  let workerGroup: WorkerGroup
  let listeners: ServerListeners
  let audit: AuditTrail
  private let initialLoad: InitialLoad
  let probe: FileProbe
  let privateUse: PrivateUse?
  /// The values for starting the other workers. `nil` if there is only one worker.
  private let otherWorkers: WorkerThread.LaunchValues?
  private(set) var services = ServerServices()
  private var isFinished = false
  /// Maximum time in seconds that startup waits for files that the configuration names.
  private static let startTimeout = 20

  /// Reads the configuration and binds every listener. Connections are accepted only after `run`.
  /// - Parameters:
  ///   - privateUse: serves one user, on free ports and without a control socket. `nil` to follow the configuration.
  ///   - proxies: the names of environment variables that set a proxy.
  ///   - sink: the destination of the log. `nil` for standard error.
  package init(
    file: String, privateUse: PrivateUse? = nil, inherited: InheritedSockets, proxies: [String] = [],
    sink: LogSink? = nil
  ) throws(StartError) {
    self.privateUse = privateUse
    probe = FileProbe()
    log = EventLog(hasPriorities: ServiceManager.isJournalStream, sink: sink)
    let preparation = try Preparation.atStart(
      file: file, privateUse: privateUse, seconds: Server.startTimeout, probe: probe)
    let settings = preparation.settings
    preparation.report(to: log)
    if !proxies.isEmpty {
      log.event(
        .proxyNotUsed, ("names", proxies.joined(separator: " ")),
        (
          "help",
          "bearerd does not use a proxy: each upstream must be directly reachable from this machine"
        ))
    }
    sharedState = SharedState(workers: settings.workers.count)
    if sharedState.workers > 1, sink == nil { log.sink = LogSink() }
    initialLoad = InitialLoad(
      preparation.tables.secretFiles, unresponsive: preparation.unresponsiveSources,
      log: log)
    do throws(UVError) { loop = try Loop() } catch { throw .system(error.description) }
    audit = AuditTrail(loop: loop, log: log)
    try inherited.check(settings, preparation.tables.upstreams)
    var sockets: [ListenerSockets] = []
    let deferredRelease = DeferredRelease(loop: loop)
    let generation: Generation
    let affordable: Int
    do throws(StartError) {
      for listener in settings.listeners {
        sockets.append(try ListenerSockets(listener, inherited: inherited, file: file, loop: loop))
      }
      generation = try Generation(
        first: preparation, files: initialLoad.files, changing: initialLoad.changing,
        snapshot: ConfigurationLoader.snapshot(
          of: settings, generation: 1, ports: sockets.map(\.ports), tables: preparation.tables.snapshot),
        limits: SharedLimits(settings, after: nil, lock: sharedState.lock), deferredRelease: deferredRelease)
      try audit.adopt(preparation.audit)
      affordable = try Acceptor.affordable(
        settings.limits.connections, workers: sharedState.workers, log: log)
    } catch {
      for opened in sockets { opened.close() }
      throw error
    }
    let worker = Worker(
      loop: loop, log: log, sharedState: sharedState, generation: generation, deferredRelease: deferredRelease)
    self.worker = worker
    workerGroup = WorkerGroup(worker: worker)
    worker.join(workerGroup)
    worker.metricsText = { [unowned worker] in StatusReport(of: worker, $0).metrics.text }
    let acceptor = Acceptor(worker: worker, workerGroup: workerGroup)
    listeners = ServerListeners(file: file, inherited: inherited, acceptor: acceptor, sockets, loop: loop)
    listeners.setKeepalive(settings.limits.tcpKeepalive)
    worker.listen(on: listeners.boundListeners, of: acceptor, affordable: affordable)
    guard let sink = log.sink else {
      otherWorkers = nil
      return
    }
    let installation = Installation(
      preparation: preparation, snapshot: generation.snapshot, limits: generation.limits, audit: log.audit,
      requiredAudit: log.requiredAudit)
    otherWorkers = WorkerThread.LaunchValues(
      installation: installation, sharedState: sharedState, affordable: affordable,
      hasPriorities: ServiceManager.isJournalStream, sink: sink)
  }

  /// Serves until SIGTERM or SIGINT. Then waits for requests in progress, at most for the time in `limits.drain`.
  package func run() throws(StartError) {
    try begin()
    serve()
  }

  package func serve() {
    loop.run()
    log.flush()
  }

  /// Starts the other workers, the control socket, the listeners and the credential providers. Then reports to the
  /// service manager that the daemon is ready.
  package func begin() throws(StartError) {
    worker.providers.generation.keyring.report(to: log, of: worker.providers.generation)
    worker.providers.begin(after: initialLoad)
    if let beginning = otherWorkers { try workerGroup.start(beginning) }
    let reloads = Reloads(server: self)
    services.reloads = reloads
    let control = ControlSocket(
      loop: loop, log: log,
      commands: [
        "reload": { completion in reloads.request { completion($0.map { Array("\($0)\n".utf8) }) } },
        "status": { [worker, workerGroup] completion in
          workerGroup.count { completion(.success(StatusReport(of: worker, $0).status.json)) }
        },
        "metrics": { [worker, workerGroup] completion in
          workerGroup.count { completion(.success(StatusReport(of: worker, $0).metrics.text)) }
        },
        "logout-all": { [unowned self] completion in
          guard let logouts = services.logouts else { return completion(.failure(.system("bearerd is starting"))) }
          logouts.logOutAll(onEnd: completion)
        },
      ].merging(DebugCommands.of(worker, workerGroup, giveUpSoon: { reloads.timeout = 100 })) { $1 },
      credentialCommands: [
        "login": { [unowned self] name, exchange in
          if let tokens = services.tokens { return tokens.logIn(name, exchange) }
          exchange.end(.failure(.system("bearerd is starting")))
        },
        "logout": { [unowned self] name, exchange in
          guard let logouts = services.logouts else { return exchange.end(.failure(.system("bearerd is starting"))) }
          logouts.logOut(name) { exchange.end($0) }
        },
        "resume": { [unowned self] name, exchange in
          exchange.end(Resumption(worker: worker, tokens: services.tokens).resume(name))
        },
      ],
      serviceCommands: [
        "logout-service": { [unowned self] name, exchange in
          guard let logouts = services.logouts else { return exchange.end(.failure(.system("bearerd is starting"))) }
          logouts.logOut(ofService: name) { exchange.end($0) }
        }
      ],
      queries: [
        "explain": { [worker, workerGroup] text, completion in
          workerGroup.count { completion(ExplainResponse.bytes(to: text, by: worker, $0)) }
        }
      ],
      credentials: { [worker] in worker.providers.generation.settings.credentials.filter { !$0.isCombined }.map(\.name)
      }, services: { [unowned self] in services.logouts?.services ?? [] })
    services.control = control
    control.update(to: worker.providers.generation.settings)
    services.processEvents = try ProcessEvents(
      loop: loop,
      watch: { [loop, workerGroup, log] interval in
        Watchdog(
          interval: interval, pulses: [loop.pulse] + workerGroup.pulses, hasPriorities: ServiceManager.isJournalStream,
          sink: log.sink)
      }, reload: { [unowned self] in reload() },
      stop: { [unowned self] in stop() })
    do throws(UVError) { try listeners.start(log) } catch { throw .system(error.description) }
    listeners.inherited.closeUnclaimed(by: worker.providers.generation.settings, log: log)
    let commands = try SecretCommands(providers: worker.providers) { [unowned self] command in
      services.tokens?.changed(command)
      guard !workerGroup.links.isEmpty else { return }
      let output = worker.providers.generation.keyring.commandOutputs.state(of: command)
      workerGroup.post { $0.providers.commands?.adopt(output) }
    }
    services.commands = commands
    worker.providers.commands?.onVerdict = { [unowned self] in services.commands?.handleVerdict(on: $0, isAccepted: $1)
    }
    commands.update(to: worker.providers.generation)
    let tokens = try TokenManager(providers: worker.providers)
    services.tokens = tokens
    tokens.update(to: worker.providers.generation)
    services.logouts = Logouts(worker: worker, workerGroup: workerGroup, tokens: tokens, commands: commands)
    let expiryWatch = ExpiryWatch(loop: loop, worker: worker, workerGroup: workerGroup, log: log)
    services.expiryWatch = expiryWatch
    let probes = Probes(worker: worker)
    services.probes = probes
    log.event(.ready, ("version", ProgramVersion.text), ("configuration", listeners.file))
    ServiceManager.notify("READY=1\nSTATUS=serving, generation \(worker.providers.generation.snapshot.generation)")
    expiryWatch.check()
    probes.update(to: worker.providers.generation)
  }

  package func reload() { services.reloads?.request { _ in } }

  // MARK: shutdown

  /// Stops the daemon after the requests in progress, as SIGTERM does. A second call stops it immediately.
  package func stop() {
    guard !worker.isDraining else { return finish() }
    ServiceManager.notify("STOPPING=1")
    services.commands?.stop()
    services.probes?.close()
    var isDone = (tokens: services.tokens == nil, others: false)
    let finishWhenDone = { [unowned self] in
      if isDone.tokens, isDone.others, worker.connectionCount == 0, worker.isDraining { finish() }
    }
    workerGroup.post {
      $0.providers.commands?.close()
      $0.providers.tokens?.close()
    }
    log.event(.stopping, ("connections", String(worker.connectionCount + workerGroup.connections)))
    services.processEvents?.startDrain(limit: worker.providers.generation.settings.limits.drain) { [unowned self] in
      finish()
    }
    // A refresh token that the server is about to send is stored before the end (T68).
    services.tokens?.stop {
      isDone.tokens = true
      finishWhenDone()
    }
    // The other workers drain first, because they own the connections accepted for them.
    workerGroup.ask { worker, reply in
      worker.onDrained = { reply(true) }
      worker.drain()
    } then: { (_: [Bool]) in
      isDone.others = true
      finishWhenDone()
    }
    worker.onDrained = finishWhenDone
    worker.drain()
  }

  private func finish() {
    guard !isFinished else { return }
    isFinished = true
    worker.onDrained = nil
    log.event(.stopped, ("cut", String(worker.connectionCount + workerGroup.connections)))
    worker.close()
    workerGroup.close()
    audit.close()
    services.close()
    loop.stop()
  }
}
