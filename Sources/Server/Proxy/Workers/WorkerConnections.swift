internal import Primitives
internal import Transport

/// The clients' connections of one worker.
final class WorkerConnections {
  private var all: [ObjectIdentifier: ClientConnection] = [:]
  /// Connections that may be ended to make room for other callers.
  private var unproven = UnprovenConnections()
  /// Requests that get an upstream connection at the end of this turn of the event loop.
  private var opening: [RequestRun] = []
  /// HTTP/2 connections that write to their sockets at the end of this turn.
  private var flushing: [ClientStreams] = []
  /// Unused output buffers of HTTP/2 connections.
  private var outputs: [ByteBuffer] = []
  private let spikes: SpikeDetector
  /// Whether the worker ends once its last connection has ended.
  var isDraining = false
  var onDrained: (() -> Void)?

  init(spikes: SpikeDetector) { self.spikes = spikes }

  var values: Dictionary<ObjectIdentifier, ClientConnection>.Values { all.values }
  /// The requests in progress, also those whose head has not arrived completely.
  var runs: [RequestRun] {
    all.values.flatMap { connection in connection.streams?.runs ?? connection.run.map { [$0] } ?? [] }
  }
  var count: Int { all.count }

  /// - Parameter isUnproven: whether the connection may be ended to make room for another caller.
  func add(_ connection: ClientConnection, isUnproven: Bool) {
    all[ObjectIdentifier(connection)] = connection
    if isUnproven { unproven.append(connection) }
    spikes.increment()
  }

  func remove(_ connection: ClientConnection) {
    all[ObjectIdentifier(connection)] = nil
    unproven.remove(connection)
    spikes.decrement()
  }

  /// Ends each connection after its current request.
  func drain() {
    for connection in Array(all.values) { connection.drain() }
    reportIfDrained()
  }

  func reportIfDrained() {
    if isDraining, all.isEmpty { onDrained?() }
  }

  // MARK: unproven connections

  /// Records that the caller of the connection has sent a client token.
  func markProven(_ connection: ClientConnection) { unproven.remove(connection) }

  func removeOldestUnproven() -> ClientConnection? { unproven.popFirst() }

  // MARK: the end of a turn

  /// Schedules a call of `SendSteps.turnEnded`.
  func openAtTurnEnd(_ run: RequestRun) { opening.append(run) }

  /// Maximum number of unused output buffers to keep.
  private static let maximumOutputs = 4
  /// Maximum length of an unused output buffer to keep, in bytes.
  private static let maximumOutput = 262_144 + 65_536

  /// Replaces an empty output buffer by one that has memory.
  func borrowOutput(_ output: inout ByteBuffer) {
    if let kept = outputs.popLast() { output = kept }
  }

  /// Takes back an output buffer whose contents were sent.
  func returnOutput(_ output: inout ByteBuffer) {
    var used = ByteBuffer()
    swap(&used, &output)
    used.removeAll()
    if outputs.count < WorkerConnections.maximumOutputs, used.storage.count <= WorkerConnections.maximumOutput {
      outputs.append(used)
    }
  }

  /// Frees the unused output buffers.
  func releaseMemory() { outputs = [] }

  /// Schedules a call of `ClientStreams.turnEnded`.
  func flushAtTurnEnd(_ streams: ClientStreams) { flushing.append(streams) }

  func turnEnded() {
    openAll()
    if flushing.isEmpty { return }
    var index = 0  // `flushing` can grow during the loop
    while index < flushing.count {
      flushing[index].turnEnded()
      index += 1
      if !opening.isEmpty { openAll() }
    }
    flushing.removeAll(keepingCapacity: true)
  }

  @inline(__always)
  private func openAll() {
    var index = 0  // `opening` can grow during the loop
    while index < opening.count {
      SendSteps(opening[index]).turnEnded()
      index += 1
    }
    opening.removeAll(keepingCapacity: true)
  }
}
