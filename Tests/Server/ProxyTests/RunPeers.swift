import Gateway
import Glibc
import HTTP1
import Policy
import Primitives
import TestSupport

@testable import EventLoop
@testable import Proxy
@testable import Transport

/// An upstream without TLS, whose connection is one end of a pair of sockets. The test reads the other end.
final class FakeUpstream {
  let connection: UpstreamConnection
  private let peer: Int32

  init(pool: UpstreamPool, context: WorkerContext) throws {
    let (ours, theirs) = try socketPair()
    peer = theirs
    connection = UpstreamConnection(
      stream: try EventLoop.Stream(loop: context.loop, adopting: ours, isUnix: true), pool: pool, context: context)
  }

  deinit { Glibc.close(peer) }

  func close() { connection.close() }

  /// Begins a session of HTTP/2. The pool must have this protocol. The upstream sends nothing.
  func beginHTTP2(in pool: UpstreamPool, context: WorkerContext) {
    let opener = Connector(pool: pool, timeout: 20_000, context: context) { _ in }
    connection.open(for: opener, timeout: 20_000, evidence: nil)
  }

  /// The bytes that bearerd has sent since the last call.
  func received() -> String { receiveWithoutWaiting(peer) }
}

/// Returns the ends of two connected sockets.
func socketPair() throws -> (Int32, Int32) {
  var ends: [Int32] = [-1, -1]
  guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
    throw TestFailure("socketpair: \(errno)")
  }
  return (ends[0], ends[1])
}

/// Returns the bytes that have arrived at a socket.
func receiveWithoutWaiting(_ descriptor: Int32) -> String {
  String(decoding: receiveBytesWithoutWaiting(descriptor), as: UTF8.self)
}

func receiveBytesWithoutWaiting(_ descriptor: Int32) -> [UInt8] {
  var bytes = [UInt8](repeating: 0, count: 65_536)
  let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
  return Array(bytes.prefix(max(0, count)))
}

/// The client's end of a connection that the worker has accepted, over a pair of sockets.
final class SocketClient {
  /// The worker's end.
  let connection: ClientConnection
  private var descriptor: Int32

  init(of worker: Worker) throws {
    let (ours, theirs) = try socketPair()
    descriptor = theirs
    let stream = try EventLoop.Stream(loop: worker.loop, adopting: ours, isUnix: true)
    worker.accept(stream, at: RunStage.listener)
    guard let connection = worker.connections.values.first(where: { $0.stream === stream }) else {
      throw TestFailure("the connection was refused")
    }
    self.connection = connection
  }

  deinit { disconnect() }

  func disconnect() {
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
  }

  /// Delivers bytes to the worker without the loop, whose clock would move.
  func send(_ text: String) { send(Array(text.utf8)) }

  func send(_ bytes: [UInt8]) { connection.stream(connection.stream, didRead: bytes.span) }

  func get(_ path: String = "/api/x") { send("GET \(path) HTTP/1.1\r\nHost: localhost:7070\r\n\r\n") }

  /// The response to the client, as far as it was sent since the last call.
  func received() -> String { receiveWithoutWaiting(descriptor) }

  func receivedBytes() -> [UInt8] { receiveBytesWithoutWaiting(descriptor) }

  /// Passes bytes of the upstream to the request in progress.
  func respond(_ response: String) throws {
    guard let run = connection.run else { throw TestFailure("there is no request") }
    try run.receive(response)
  }
}

/// A client without a connection. It keeps what the run sends and does, in order.
final class FakeClient: RequestClient {
  let arrival = Arrival(listener: RunStage.listener, caller: RunStage.caller)
  let unit: String? = nil
  let quota: CallerQuota
  var isOrphaned = false
  var isGone = false
  var dedicated: DedicatedUpstream?
  /// The request in progress. `nil` before the first byte of a request, and after its end.
  private(set) var run: RequestRun?
  /// Whether `settle` passes the outcome of an acquisition to the run, as a connection does.
  var feedsWhenSettled = true
  private(set) var sent = ""
  private(set) var events: [String] = []
  private(set) var settleCount = 0
  private var pending: [UInt8] = []
  private let worker: Worker

  init(of worker: Worker) {
    self.worker = worker
    quota = worker.sharedState.quotas.add(.user(getuid())).quota
  }

  var unread: String { String(decoding: pending, as: UTF8.self) }
  /// The status of the response. `nil` before the response begins.
  var status: Int? { sent.split(separator: " ").dropFirst().first.flatMap { Int($0) } }

  // MARK: actions of the client

  func send(_ text: String) {
    pending += Array(text.utf8)
    if run == nil { run = RequestRun(of: self, worker: worker, isFirst: true) }
    feed()
    settle()
  }

  func get(_ path: String = "/api/x", fields: String = "") {
    send("GET \(path) HTTP/1.1\r\nHost: localhost:7070\r\n\(fields)\r\n")
  }

  /// Begins a gRPC call over HTTP/2, whose body is not complete.
  func call(_ path: String = "/api/Greeter/Hello", _ fields: (String, String)...) {
    var block = HeaderBlock()
    let start = [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "localhost:7070")]
    for (name, value) in start + [("content-type", "application/grpc"), ("te", "trailers")] + fields {
      block.append(name: name.utf8.span, value: value.utf8.span)
    }
    run = RequestRun(of: self, worker: worker, isFirst: true, over: .http2)
    run?.receiveHead(block, endsStream: false)
    settle()
  }

  /// Passes the unread bytes, and the outcome of an acquisition, to the run.
  func feed() {
    guard let run else { return }
    let bytes = pending
    pending = []
    var position = 0
    run.receive(bytes.span, position: &position)
    pending = Array(bytes[position...])
  }

  func disconnect() {
    run?.step { machine, output in machine.clientGone(output: &output) }
  }

  func deadlinePassed() {
    run?.deadlinePassed()
    settle()
  }

  /// Ends the request without an event.
  func discard() {
    run?.endUpstream(reuse: false)
    run = nil
    dedicated?.close()
  }

  // MARK: calls of the run

  func requestBegan() {}
  func callerIsProven() {}

  func sendHeads(_ text: Span<UInt8>) { sent += text.text }
  func endResponse(trailers: borrowing ByteBuffer) {}

  func send(_ first: Span<UInt8>, _ second: Span<UInt8>) {
    for piece in [first.text, second.text] { sent += piece }
  }

  func shutdown() { events.append("shutdown") }
  func linger() { events.append("linger") }
  func close(reset: Bool) { events.append(reset ? "reset" : "close") }
  func restartDeadline() {}
  func pauseBodyPace() {}

  func ended(_ run: RequestRun) {
    events.append("ended")
    self.run = nil
  }

  func settle() {
    settleCount += 1
    if feedsWhenSettled, run?.hasOutcome == true { feed() }
  }
}

extension Span<UInt8> {
  fileprivate var text: String { String(decoding: indices.map { self[$0] }, as: UTF8.self) }
}

extension RequestRun {
  /// Receives bytes of the upstream.
  func receive(_ response: String) throws {
    guard let upstream else { throw TestFailure("the request has no connection") }
    let bytes = Array(response.utf8)
    connection(upstream, didReceive: bytes.span)
  }

  func endOfUpstream() throws {
    guard let upstream else { throw TestFailure("the request has no connection") }
    connectionEnded(upstream, isClean: true)
  }
}
