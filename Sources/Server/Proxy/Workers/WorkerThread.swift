internal import Configuration
internal import EventLoop
internal import Gateway
package import Log
internal import Providers
internal import Settings
internal import Generations
internal import StatusModel
internal import System

/// Runs an additional worker on its own thread.
package enum WorkerThread {
  package struct LaunchValues: Sendable {
    let installation: Installation
    let sharedState: SharedState
    /// Number of connections for which there are enough file descriptors.
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

  /// Reports the outcome of a worker's start to the main thread.
  final class StartResult: @unchecked Sendable {
    // `problem` is set before the signal, and read after it.
    private let signal = ThreadSignal()
    private(set) var problem: StartError?

    /// Waits for the outcome of the start. Returns `false` after the timeout.
    func wait(milliseconds: Int) -> Bool { signal.wait(milliseconds: milliseconds) }

    fileprivate func succeeded() { signal.signal() }

    fileprivate func failed(_ error: StartError) {
      problem = error
      signal.signal()
    }
  }

  static func run(_ launch: LaunchValues, _ link: WorkerLink, _ start: StartResult) {
    let log = EventLog(hasPriorities: launch.hasPriorities, worker: link.number, sink: launch.sink)
    do throws(StartError) {
      let worker = try begin(launch, link, log)
      start.succeeded()
      worker.loop.run()
      log.flush()
    } catch {
      start.failed(error)
    }
    launch.sink.detach(link.number)
  }

  private static func begin(
    _ launch: LaunchValues, _ link: WorkerLink, _ log: EventLog
  ) throws(StartError) -> Worker {
    let installation = launch.installation
    let preparation = installation.preparation
    let unresponsive = preparation.unresponsiveSources
    let initialLoad = InitialLoad(
      preparation.tables.secretFiles, unresponsive: unresponsive, log: log)
    let loop: Loop
    do throws(UVError) { loop = try Loop() } catch { throw .system(error.description) }
    let deferredRelease = DeferredRelease(loop: loop)
    let generation = try Generation(
      first: preparation, files: initialLoad.files, changing: initialLoad.changing, snapshot: installation.snapshot,
      limits: installation.limits, deferredRelease: deferredRelease)
    do throws(UVError) {
      let worker = Worker(
        loop: loop, log: log, sharedState: launch.sharedState, generation: generation,
        deferredRelease: deferredRelease, link: link)
      log.use(audit: installation.audit, required: installation.requiredAudit)
      worker.affordableConnections = launch.affordable
      worker.providers.begin(after: initialLoad)
      try link.listen(worker)
      return worker
    } catch {
      throw .system(error.description)
    }
  }
}

extension Worker {
  /// Closes the worker, and stops its loop.
  func end() {
    close()
    link?.close()
    loop.stop()
  }

  /// Receives a connection that the main thread has accepted.
  func receive(_ socket: AcceptedSocket, at listener: ListenerID) {
    // The listener may have been removed, or the worker may be ending.
    guard !isDraining, let index = generation.snapshot.index(of: listener) else {
      socket.close()
      link?.connectionEnded()
      return
    }
    do throws(UVError) {
      accept(try socket.stream(on: loop), at: listener)
    } catch {
      socket.close()
      link?.connectionEnded()
      log.event(
        .acceptFailed, ("listener", generation.settings.listeners[index].name), ("detail", error.description))
    }
  }
}
