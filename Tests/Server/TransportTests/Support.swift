import EventLoop
import Gateway
import Glibc
import Log
import Policy
import ServerSupport
import TestSupport

@testable import Transport

/// A worker's context on a loop that the test runs.
final class LoopStage {
  let loop: Loop
  let context: WorkerContext
  private let pulse: Timer

  init() throws {
    let loop = try Loop()
    self.loop = loop
    // The timer wakes the loop, so that `run(until:)` can check its condition.
    pulse = Timer(loop: loop) {}
    pulse.start(after: 2, repeatEvery: 2)
    context = WorkerContext(loop: loop, log: EventLog(hasPriorities: true, sink: LogSink(to: -1)), workers: 1)
    context.limitIdleConnections(to: 2, time: 60_000)
  }

  /// Closes everything. Nothing may be left on the loop.
  func close() {
    context.close()
    pulse.close()
    for _ in 0..<3 { loop.runOnce(waiting: false) }
  }

  func run(until condition: () throws -> Bool) rethrows -> Bool {
    try eventually {
      loop.runOnce(waiting: true)
      return try condition()
    }
  }

  /// Returns a pool for an upstream on this machine without TLS.
  func pool(_ upstream: String) throws -> UpstreamPool {
    UpstreamPool(upstream: try Upstream(parsing: upstream), context: nil, generation: 1)
  }

  /// Connects to the pool's upstream and returns the result.
  func connect(_ pool: UpstreamPool, timeouts: Timeouts = Timeouts()) -> Result<UpstreamConnection, ConnectFailure>? {
    var result: Result<UpstreamConnection, ConnectFailure>?
    let connector = Connector(
      pool: pool, timeouts: timeouts, tally: ServiceTally(name: "api"), context: context
    ) { result = $0 }
    connector.start()
    _ = run { result != nil }
    return result
  }

  func connection(_ pool: UpstreamPool) throws -> UpstreamConnection {
    guard case .success(let connection)? = connect(pool) else { throw TestFailure("no connection") }
    return connection
  }
}

/// A listening socket at 127.0.0.1 whose connections the test accepts.
final class PlainListener {
  let port: UInt16
  private let descriptor: Int32
  private var accepted: [Int32] = []

  init() throws {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    self.descriptor = descriptor
    port = Loopback.withAddress(family: AF_INET, port: 0) { address, size in
      var bound = sockaddr_in()
      var count = socklen_t(MemoryLayout<sockaddr_in>.size)
      guard bind(descriptor, address, size) == 0, listen(descriptor, 16) == 0 else { return 0 }
      let status = withUnsafeMutablePointer(to: &bound) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &count) }
      }
      return status == 0 ? UInt16(bigEndian: bound.sin_port) : 0
    }
    guard port != 0 else { throw TestFailure("listen: \(errno)") }
  }

  deinit { for socket in accepted + [descriptor] { close(socket) } }

  func accept() -> Int32 {
    let socket = Glibc.accept(descriptor, nil, nil)
    accepted.append(socket)
    return socket
  }

  /// Closes an accepted connection with a TCP reset.
  func reset(_ socket: Int32) {
    var now = linger(l_onoff: 1, l_linger: 0)
    setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
    accepted.removeAll { $0 == socket }
    close(socket)
  }
}

extension Result<UpstreamConnection, ConnectFailure>? {
  var refusal: RefusalCode? {
    guard case .failure(let failure)? = self, case .plain(let code) = failure.refusal else { return nil }
    return code
  }
}

/// A run that records its events.
final class TestRun: UpstreamRunDelegate {
  var received = ""
  var events: [String] = []
  /// Why the run has failed.
  var detail = ""
  /// Called at the end and at a failure of the connection.
  var onEnd: (UpstreamConnection) -> Void = { _ in }

  func connection(_ connection: UpstreamConnection, didReceive plaintext: Span<UInt8>) {
    for index in plaintext.indices { received.unicodeScalars.append(Unicode.Scalar(plaintext[index])) }
  }

  func connectionEnded(_ connection: UpstreamConnection, isClean: Bool) {
    events.append("ended")
    onEnd(connection)
  }

  func connection(_ connection: UpstreamConnection, didFail refusal: RefusalCode, detail: String) {
    events.append("failed")
    self.detail = detail
    onEnd(connection)
  }

  func connectionDidDrain(_ connection: UpstreamConnection) {}
}
