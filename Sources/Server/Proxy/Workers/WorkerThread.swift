internal import Configuration
internal import EventLoop
internal import Gateway
package import Log
internal import Providers
internal import Setup
internal import System

/// The life of a worker besides the first one: everything that it touches is made on its own thread.
package enum WorkerThread {
  /// All that a worker's thread begins with.
  package struct Beginning: Sendable {
    let installation: Installation
    let sharedState: SharedState
    /// How many connections there are descriptors for.
    let affordable: Int
    let hasPriorities: Bool
    let sink: LogSink

    package init(
      installation: Installation, sharedState: SharedState, affordable: Int, hasPriorities: Bool, sink: LogSink
    ) {
      self.installation = installation
      self.sharedState = sharedState
      self.affordable = affordable
      self.hasPriorities = hasPriorities
      self.sink = sink
    }
  }

  /// Its first word to the main thread.
  ///
  /// `@unchecked Sendable`, because the problem is put there ahead of the signal, and looked at behind it.
  final class Start: @unchecked Sendable {
    private let signal = ThreadSignal()
    private(set) var problem: StartError?

    /// False: it takes too long.
    func wait(milliseconds: Int) -> Bool { signal.wait(milliseconds: milliseconds) }

    fileprivate func succeeded() { signal.give() }

    fileprivate func failed(_ error: StartError) {
      problem = error
      signal.give()
    }
  }

  /// Returns when it has ended.
  static func run(_ beginning: Beginning, _ link: WorkerLink, _ start: Start) {
    let log = EventLog(hasPriorities: beginning.hasPriorities, of: link.number, share: beginning.sink)
    do throws(StartError) {
      let worker = try begin(beginning, link, log)
      start.succeeded()
      worker.loop.run()
      log.flush()
    } catch {
      start.failed(error)
    }
    beginning.sink.leave(link.number)
  }

  private static func begin(
    _ beginning: Beginning, _ link: WorkerLink, _ log: EventLog
  ) throws(StartError) -> Worker {
    let installation = beginning.installation
    let preparation = installation.preparation
    let unanswered = ConfigurationLoader.unanswered(in: preparation)
    let first = InitialLoad(
      preparation.tables.secretFiles, unanswered: unanswered, log: log)
    let loop: Loop
    do throws(UVError) { loop = try Loop() } catch { throw .system(error.description) }
    let deferredRelease = DeferredRelease(loop: loop)
    let generation = try Generation(
      first: preparation, files: first.files, changing: first.changing, snapshot: installation.snapshot,
      limits: installation.limits, deferredRelease: deferredRelease)
    do throws(UVError) {
      let worker = Worker(
        loop: loop, log: log, sharedState: beginning.sharedState, generation: generation,
        deferredRelease: deferredRelease, link: link)
      log.use(audit: installation.audit, required: installation.requiredAudit)
      worker.affordableConnections = beginning.affordable
      worker.providers.begin(after: first)
      try link.listen(worker)
      return worker
    } catch {
      throw .system(error.description)
    }
  }
}

extension Worker {
  /// Its thread returns.
  func end() {
    close()
    link?.close()
    loop.stop()
  }

  /// A connection that the main thread has accepted.
  func receive(_ socket: AcceptedSocket, at listener: ListenerID) {
    // Its listener may have gone, or the worker be about to end.
    guard !isDraining, let index = generation.snapshot.index(of: listener) else {
      socket.close()
      link?.connectionEnded()
      return
    }
    do throws(UVError) {
      take(try socket.stream(on: loop), at: listener)
    } catch {
      socket.close()
      link?.connectionEnded()
      log.event(
        .acceptFailed, ("listener", generation.settings.listeners[index].name), ("detail", error.description))
    }
  }
}
