@testable import EventLoop
import Glibc
import Testing

@Suite struct StreamTests {
  /// The deinitializer of a loop checks that all handles are closed. Therefore every test also detects leaks.
  let loop: Loop

  init() throws { loop = try Loop() }

  @Test func `ten megabytes are echoed completely, and neither side buffers more than one read`() throws {
    let pair = try Connection(loop)
    let text = pattern(10 * 1024 * 1024)
    let piece = 192 * 1024
    var (written, received, longestQueue) = (0, 0, 0)
    var isEqual = true
    func feed() {
      while written < text.count, pair.client.queuedBytes == 0 {
        let end = min(written + piece, text.count)
        pair.client.write(text.span.extracting(written..<end))
        written = end
      }
      if written == text.count { pair.client.shutdown() }
    }
    pair.clientSide.onDrain = { _ in feed() }
    pair.clientSide.onRead = { _, bytes in
      for index in bytes.indices where bytes[index] != text[received + index] { isEqual = false }
      received += bytes.count
    }
    pair.serverSide.onRead = { stream, bytes in
      stream.write(bytes)
      longestQueue = max(longestQueue, stream.queuedBytes)
      if stream.queuedBytes > 0 { stream.stopReading() }
    }
    pair.serverSide.onDrain = { $0.startReading() }
    pair.serverSide.onEnd = { $0.closeAfterFlush() }
    pair.server.startReading()
    feed()
    // The client starts to read only after both directions are blocked, so that the test covers back-pressure.
    loop.run { pair.client.queuedBytes > 0 && pair.server.queuedBytes > 0 }
    loop.settle()
    pair.client.startReading()
    loop.run { pair.clientSide.events.last == "end" }
    #expect(received == text.count)
    #expect(isEqual)
    #expect(longestQueue > 0 && longestQueue <= 256 * 1024)
    pair.close()
  }

  @Test func `a client that closed its sending side still receives the response`() throws {
    let pair = try Connection(loop)
    pair.server.startReading()
    pair.client.startReading()
    loop.write(Array("question".utf8), to: pair.client)
    pair.client.shutdown()
    pair.serverSide.onEnd = { stream in
      stream.write(Array("ans".utf8).span, Array("wer".utf8).span)
      stream.closeAfterFlush()
    }
    loop.run { pair.clientSide.events.last == "end" }
    #expect(pair.serverSide.events == ["read", "end"])
    #expect(pair.serverSide.bytes == Array("question".utf8))
    #expect(pair.clientSide.events == ["read", "end"])
    #expect(pair.clientSide.bytes == Array("answer".utf8))
    #expect(pair.server.isClosed)
    pair.client.startReading()  // reports no second end
    loop.settle()
    #expect(pair.clientSide.events == ["read", "end"])
    pair.close()
  }

  @Test func `a reset is reported once, as a failure`() throws {
    let pair = try Connection(loop)
    pair.server.startReading()
    pair.client.reset()
    loop.run { !pair.serverSide.events.isEmpty }
    #expect(pair.serverSide.events == ["fail"])
    #expect(pair.serverSide.error == UVError(operation: "read", status: -ECONNRESET))
    loop.write([1], to: pair.server)  // has no effect, and reports no further event
    pair.server.startReading()
    loop.settle()
    #expect(pair.serverSide.events == ["fail"])
    pair.close()
  }

  @Test func `a refused connection is reported asynchronously`() throws {
    let listener = try Listener(loop: loop, address: .loopback(), backlog: 1, reusePort: false)
    let port = listener.port
    listener.close()
    let recorder = Recorder()
    recorder.isCalling = true
    let stream = try Stream(loop: loop, connectingTo: .loopback(port), delegate: recorder)
    loop.write([1], to: stream)
    recorder.isCalling = false
    loop.run { !recorder.events.isEmpty }
    #expect(recorder.events == ["fail"])
    #expect(recorder.error?.isConnectionRefused == true)
    #expect(recorder.error?.description == "uv_tcp_connect: ECONNREFUSED (connection refused)")
    stream.close()
  }

  @Test(arguments: [[1, 2, 3], [UInt8](repeating: 255, count: 4)])
  func `an impossible connection attempt is reported asynchronously`(_ ip: [UInt8]) throws {
    let recorder = Recorder()
    recorder.isCalling = true  // three bytes are no address; 255.255.255.255 is unreachable for TCP
    let stream = try Stream(loop: loop, connectingTo: SocketAddress(ip: ip, port: 9), delegate: recorder)
    recorder.isCalling = false
    loop.run { !recorder.events.isEmpty }
    #expect(recorder.events == ["fail"])
    stream.close()
  }

  @Test func `writing to a closed peer fails asynchronously`() throws {
    let pair = try Connection(loop)
    pair.server.close()
    pair.clientSide.isCalling = true
    for _ in 0..<8 { loop.write([1], to: pair.client) }  // the first write causes the reset, a later write fails
    pair.clientSide.isCalling = false
    loop.run { !pair.clientSide.events.isEmpty }
    #expect(pair.clientSide.events == ["fail"])
    #expect([-ECONNRESET, -EPIPE].contains(pair.clientSide.error?.status))
    loop.write([1], to: pair.client)
    loop.settle()
    #expect(pair.clientSide.events == ["fail"])
    pair.close()
  }

  @Test func `a failed write is not reported after close`() throws {
    let pair = try Connection(loop)
    pair.server.close()
    for _ in 0..<8 { loop.write([1], to: pair.client) }
    pair.client.close()
    loop.settle()
    #expect(pair.clientSide.events.isEmpty)
  }

  @Test(arguments: ["connect", "read", "drain", "end", "fail"], ["close", "reset", "flush"])
  func `a stream may be closed in every callback`(_ callback: String, _ ending: String) throws {
    let pair = try Connection(loop)
    let end: (Stream) -> Void = { stream in
      switch ending {
      case "close": stream.close()
      case "reset": stream.reset()
      default: stream.closeAfterFlush()
      }
      stream.close()
      stream.write([9].span)
      stream.shutdown()
      stream.startReading()
      #expect(stream.queuedBytes == 0)
      #expect(stream.descriptor == -1)
      #expect(stream.peerAddress == nil)
    }
    var (client, recorder) = (pair.client, pair.clientSide)
    switch callback {
    case "connect":
      let listener = try Listener(loop: loop, address: .loopback(), backlog: 1, reusePort: false)
      defer { listener.close() }
      recorder = Recorder()
      recorder.onConnect = end
      client = try Stream(loop: loop, connectingTo: .loopback(listener.port), delegate: recorder)
      loop.run { client.isClosed }
    case "read":
      recorder.onRead = { stream, _ in end(stream) }
      client.startReading()
      loop.write(pattern(600_000), to: pair.server)  // more than one read's worth
    case "drain":
      recorder.onDrain = end
      loop.write(pattern(8_000_000), to: client)
      pair.serverSide.onRead = { _, _ in }
      pair.server.startReading()
    case "end":
      recorder.onEnd = end
      client.startReading()
      pair.server.shutdown()
    default:
      recorder.onFail = end
      client.startReading()
      pair.server.reset()
    }
    loop.run { client.isClosed }
    loop.settle()
    #expect(recorder.events == [callback])
    pair.close()
  }

  @Test func `closeAfterFlush delivers everything to a slow reader`() throws {
    let pair = try Connection(loop)
    let text = pattern(8_000_000)
    loop.write(text, to: pair.server)
    #expect(pair.server.queuedBytes > 0)
    pair.server.closeAfterFlush()
    loop.settle()
    #expect(!pair.server.isClosed)
    pair.client.startReading()
    loop.run { pair.clientSide.events.last == "end" }
    #expect(isSame(pair.clientSide.bytes, text))
    #expect(pair.server.isClosed)
    #expect(pair.serverSide.events.isEmpty)
    pair.close()
  }

  @Test func `closeAfterFlush ends when the peer disconnects`() throws {
    let pair = try Connection(loop)
    loop.write(pattern(8_000_000), to: pair.server)
    pair.server.closeAfterFlush()
    pair.client.reset()
    loop.run { pair.server.isClosed }
    #expect(pair.serverSide.events.isEmpty)
  }

  @Test func `close discards queued bytes, also during a write`() throws {
    let pair = try Connection(loop)
    loop.write(pattern(8_000_000), to: pair.server)
    loop.write(pattern(1000), to: pair.server)  // waits behind the write in flight
    pair.server.close()
    pair.server.close()
    loop.settle()
    #expect(pair.serverSide.events.isEmpty)
    pair.close()
  }

  @Test func `bytes written while connecting are sent in order, followed by the end of the stream`() throws {
    let acceptor = Acceptor()
    let listener = try Listener(loop: loop, address: .loopback(), backlog: 1, reusePort: false)
    listener.delegate = acceptor
    let (recorder, far) = (Recorder(), Recorder())
    acceptor.onAccept = {
      $0.delegate = far
      $0.startReading()
    }
    try listener.start()
    let stream = try Stream(loop: loop, connectingTo: .loopback(listener.port), delegate: recorder)
    loop.write([1, 2], to: stream)
    stream.write([3].span, [4].span)
    #expect(stream.queuedBytes == 4)
    stream.shutdown()
    loop.write([5], to: stream)  // after the end: not sent
    recorder.onConnect = { $0.write([6].span) }
    stream.startReading()
    loop.run { far.events.last == "end" }
    #expect(far.bytes == [1, 2, 3, 4])
    #expect(recorder.events.first == "connect")
    stream.close()
    acceptor.streams.forEach { $0.close() }
    listener.close()
  }

  /// Lengths of the two buffers: either buffer may exceed the socket's buffer.
  @Test(arguments: [(0, 0), (0, 5), (5, 0), (3, 4), (8_000_000, 7), (7, 8_000_000), (5_000_000, 5_000_000)])
  func `two buffers of one write arrive as one sequence`(_ lengths: (Int, Int)) throws {
    let pair = try Connection(loop)
    let text = pattern(lengths.0 + lengths.1 + 1)
    let (first, second) = (Array(text[..<lengths.0]), Array(text[lengths.0..<(text.count - 1)]))
    pair.server.write(first.span, second.span)
    loop.write([text[text.count - 1]], to: pair.server)
    pair.server.shutdown()
    pair.client.startReading()
    loop.run { pair.clientSide.events.last == "end" }
    #expect(isSame(pair.clientSide.bytes, text))
    #expect(pair.serverSide.events == (text.count > 1_000_000 ? ["drain"] : []))
    pair.close()
  }

  @Test func `the peer's end of stream is reported only while reading`() throws {
    let pair = try Connection(loop)
    pair.client.startReading()
    pair.client.stopReading()
    pair.client.stopReading()
    loop.write([1], to: pair.server)
    pair.server.shutdown()
    loop.settle()
    #expect(pair.clientSide.events.isEmpty)
    pair.client.startReading()
    loop.run { pair.clientSide.events.last == "end" }
    #expect(pair.clientSide.events == ["read", "end"])
    pair.close()
  }

  @Test func `both ends know both addresses, and TCP_NODELAY is set`() throws {
    let pair = try Connection(loop)
    #expect(pair.client.localAddress == pair.server.peerAddress)
    #expect(pair.client.peerAddress == pair.server.localAddress)
    #expect(pair.client.peerAddress?.ip == [127, 0, 0, 1])
    #expect(pair.server.isUnix == false)
    for stream in [pair.client, pair.server] {
      var (value, size) = (CInt(0), socklen_t(4))
      #expect(getsockopt(stream.descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &value, &size) == 0 && value != 0)
      #expect(fcntl(stream.descriptor, F_GETFD) & FD_CLOEXEC != 0)
      #expect(fcntl(stream.descriptor, F_GETFL) & O_NONBLOCK != 0)
    }
    pair.close()
  }

  @Test func `a Unix stream carries bytes and its end`() throws {
    var ends: [CInt] = [0, 0]
    #expect(socketpair(AF_UNIX, streamType, 0, &ends) == 0)
    let (near, far) = (Recorder(), Recorder())
    let streams = try ends.map { try Stream(loop: loop, adopting: $0, isUnix: true) }
    (streams[0].delegate, streams[1].delegate) = (near, far)
    let text = pattern(3_000_000)
    loop.write(text, to: streams[0])
    streams[0].shutdown()
    streams[1].startReading()
    loop.run { far.events.last == "end" }
    #expect(isSame(far.bytes, text))
    #expect(streams[0].localAddress == nil && streams[0].isUnix)
    streams[1].reset()
    streams[0].close()
  }

  @Test func `adopting a descriptor that is not a socket throws`() throws {
    #expect(throws: UVError.self) { try Stream(loop: loop, adopting: 9999, isUnix: false) }
    #expect(throws: UVError.self) { try Stream(loop: loop, adopting: -1, isUnix: true) }
    loop.settle()
  }

  @Test func `a stream keeps its delegate until the stream is closed`() throws {
    let pair = try Connection(loop)
    weak var delegate: Recorder?
    do {
      let recorder = Recorder()
      delegate = recorder
      pair.client.delegate = recorder
    }
    #expect(delegate != nil)
    pair.client.close()
    #expect(delegate == nil)
    pair.close()
  }
}

/// With `==` in the expectation, a failure would compute the shortest difference of megabytes.
private func isSame(_ some: [UInt8], _ other: [UInt8]) -> Bool { some == other }
