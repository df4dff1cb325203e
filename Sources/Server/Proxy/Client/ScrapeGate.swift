internal import Configuration
internal import EventLoop
internal import Gateway
internal import Generations

/// Holds back the request of a connection to the metrics listener until the counts of all workers have arrived.
final class ScrapeGate: StreamDelegate {
  private let connection: ClientConnection
  private unowned let worker: Worker
  private unowned let workerGroup: WorkerGroup

  init(_ connection: ClientConnection, workerGroup: WorkerGroup) {
    self.connection = connection
    worker = connection.worker
    self.workerGroup = workerGroup
  }

  func stream(_ stream: EventLoop.Stream, didRead bytes: Span<UInt8>) {
    var buffered: [UInt8] = []
    buffered.reserveCapacity(bytes.count)
    for index in bytes.indices { buffered.append(bytes[index]) }
    // The end of the stream must not be reported before the buffered bytes.
    stream.stopReading()
    workerGroup.count { [connection, worker] counts in
      guard !connection.isClosed else { return }
      worker.allCounts = counts
      connection.stream(stream, didRead: buffered.span)
      worker.allCounts = nil
      if connection.isReading, !connection.isClosed { stream.startReading() }
    }
  }

  func streamDidConnect(_ stream: EventLoop.Stream) { connection.streamDidConnect(stream) }
  func streamDidEnd(_ stream: EventLoop.Stream) { connection.streamDidEnd(stream) }
  func streamDidDrain(_ stream: EventLoop.Stream) { connection.streamDidDrain(stream) }
  func stream(_ stream: EventLoop.Stream, didFail error: UVError) { connection.stream(stream, didFail: error) }
}

extension Worker {
  /// Puts a `ScrapeGate` in front of a connection to the metrics listener, if there are several workers.
  func gateScrapes(of connection: ClientConnection) {
    guard sharedState.workers > 1, generation.snapshot.isForMetrics(connection.arrival.listener), !connection.isClosed
    else {
      return
    }
    if let workerGroup {
      if !(connection.stream.delegate is ScrapeGate) {
        connection.stream.delegate = ScrapeGate(connection, workerGroup: workerGroup)
      }
    } else {
      connection.drain()
    }
  }
}
