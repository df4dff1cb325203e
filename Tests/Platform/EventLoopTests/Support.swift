import EventLoop
import Glibc
import Testing

/// Close-on-exec, so that child processes of other tests do not keep the sockets open.
let streamType = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)

extension SocketAddress {
  static func loopback(_ port: UInt16 = 0) -> SocketAddress { SocketAddress(ip: [127, 0, 0, 1], port: port) }
}

/// Records the events of a stream, and calls the closures of the test.
final class Recorder: StreamDelegate {
  var events: [String] = []
  var bytes: [UInt8] = []
  var error: UVError?
  var onConnect: ((Stream) -> Void)?
  var onRead: ((Stream, Span<UInt8>) -> Void)?
  var onEnd: ((Stream) -> Void)?
  var onDrain: ((Stream) -> Void)?
  var onFail: ((Stream) -> Void)?
  /// `true` while the test calls the stream. The stream must not report events during the call.
  var isCalling = false

  func streamDidConnect(_ stream: Stream) {
    note("connect")
    onConnect?(stream)
  }

  func stream(_ stream: Stream, didRead bytes: Span<UInt8>) {
    if events.last != "read" { note("read") }
    if let onRead { return onRead(stream, bytes) }
    bytes.withUnsafeBufferPointer { self.bytes += $0 }
  }

  func streamDidEnd(_ stream: Stream) {
    note("end")
    onEnd?(stream)
  }

  func streamDidDrain(_ stream: Stream) {
    note("drain")
    onDrain?(stream)
  }

  func stream(_ stream: Stream, didFail error: UVError) {
    note("fail")
    self.error = error
    onFail?(stream)
  }

  /// Breaks reference cycles: the closures may keep streams and their loop alive.
  func forget() {
    (onConnect, onRead, onEnd, onDrain, onFail) = (nil, nil, nil, nil, nil)
  }

  private func note(_ event: String) {
    #expect(!isCalling, "reported \(event) re-entrantly")
    events.append(event)
  }
}

final class Acceptor: ListenerDelegate {
  var streams: [Stream] = []
  var errors: [UVError] = []
  var onAccept: ((Stream) -> Void)?
  var onFail: ((Listener) -> Void)?

  func listener(_ listener: Listener, didAccept stream: Stream) {
    streams.append(stream)
    onAccept?(stream)
  }

  func listener(_ listener: Listener, didFail error: UVError) {
    errors.append(error)
    onFail?(listener)
  }
}

extension Loop {
  /// Runs until `condition` is true. The test fails after a minute.
  func run(until condition: () -> Bool, sourceLocation: SourceLocation = #_sourceLocation) {
    var isLate = false
    let deadline = Timer(loop: self) { isLate = true }
    deadline.start(after: 60_000)
    while !condition(), !isLate { runOnce(waiting: true) }
    deadline.close()
    #expect(!isLate, "the condition did not become true within a minute", sourceLocation: sourceLocation)
  }

  /// Runs a few turns, so that pending events can arrive.
  func settle() {
    for _ in 0..<20 { runOnce(waiting: false) }
  }

  func write(_ bytes: [UInt8], to stream: Stream) {
    stream.write(bytes.span)
  }
}

/// Both ends of one loopback connection on one loop.
final class Connection {
  let loop: Loop
  let client: Stream
  let server: Stream
  let clientSide = Recorder()
  let serverSide = Recorder()

  init(_ loop: Loop) throws {
    self.loop = loop
    let acceptor = Acceptor()
    let listener = try Listener(loop: loop, address: .loopback(), backlog: 16, reusePort: false)
    listener.delegate = acceptor
    try listener.start()
    let side = clientSide
    client = try Stream(loop: loop, connectingTo: .loopback(listener.port), delegate: side)
    loop.run { !acceptor.streams.isEmpty && side.events == ["connect"] }
    side.events = []
    server = try #require(acceptor.streams.first)
    server.delegate = serverSide
    listener.close()
  }

  func close() {
    client.close()
    server.close()
    clientSide.forget()
    serverSide.forget()
  }
}

/// Returns bytes in which neighboring positions differ.
func pattern(_ count: Int) -> [UInt8] {
  let period = (0..<65_536).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ ($0 >> 8) &* 7) }
  var bytes: [UInt8] = []
  while bytes.count < count { bytes += period }
  bytes.removeLast(bytes.count - count)
  return bytes
}
