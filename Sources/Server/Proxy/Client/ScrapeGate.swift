internal import Configuration
internal import EventLoop
internal import Gateway
internal import Generations

/// Holds back the request of a connection to the metrics listener until the counts of all workers have arrived.
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
    var buffered: [UInt8] = []
    buffered.reserveCapacity(bytes.count)
    for index in bytes.indices { buffered.append(bytes[index]) }
    // The end of the stream must not be reported before the buffered bytes.
    stream.stopReading()
    workerGroup.count { [session, worker] counts in
      guard !session.isClosed else { return }
      worker.allCounts = counts
      session.stream(stream, didRead: buffered.span)
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
  /// Puts a `ScrapeGate` in front of a connection to the metrics listener, if there are several workers.
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
