internal import Configuration
internal import EventLoop
internal import Gateway
internal import Setup

/// Before a connection that may scrape: what it sends is read once the counts of all workers are here, so that the answer
/// can be given at once.
final class ScrapeGate: StreamDelegate {
  private let session: ClientSession
  private unowned let worker: Worker
  private unowned let workerGroup: WorkerGroup

  init(_ session: ClientSession, workerGroup: WorkerGroup) {
    self.session = session
    worker = session.worker
    self.workerGroup = workerGroup
  }

  func stream(_ stream: EventLoop.Stream, didRead bytes: Span<UInt8>) {
    var held: [UInt8] = []
    held.reserveCapacity(bytes.count)
    for index in bytes.indices { held.append(bytes[index]) }
    // Nor its end: it belongs behind the bytes.
    stream.stopReading()
    workerGroup.count { [session, worker] counts in
      guard !session.isClosed else { return }
      worker.allCounts = counts
      session.stream(stream, didRead: held.span)
      worker.allCounts = nil
      if session.flow.isReading, !session.isClosed { stream.startReading() }
    }
  }

  func streamDidConnect(_ stream: EventLoop.Stream) { session.streamDidConnect(stream) }
  func streamDidEnd(_ stream: EventLoop.Stream) { session.streamDidEnd(stream) }
  func streamDidDrain(_ stream: EventLoop.Stream) { session.streamDidDrain(stream) }
  func stream(_ stream: EventLoop.Stream, didFail error: UVError) { session.stream(stream, didFail: error) }
}

extension Worker {
  /// A connection to the listener for scrapes asks all workers, if there are others. Where these are not known it ends: it was
  /// accepted when its listener was another one.
  func gateScrapes(of session: ClientSession) {
    guard sharedState.workers > 1, generation.snapshot.isForMetrics(session.client.listener), !session.isClosed
    else {
      return
    }
    if let workerGroup {
      if !(session.stream.delegate is ScrapeGate) {
        session.stream.delegate = ScrapeGate(session, workerGroup: workerGroup)
      }
    } else {
      session.drain()
    }
  }
}
