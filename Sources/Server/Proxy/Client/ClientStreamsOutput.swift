internal import EventLoop
internal import HTTP2
internal import Primitives

/// What the streams of a client's HTTP/2 connection send: the text of heads that are held back, and the bytes for the socket.
final class ClientStreamsOutput {
  private let session: HTTP2Session
  private let stream: EventLoop.Stream
  private unowned let connections: WorkerConnections
  /// The text of the heads that are held back.
  private var heads: [UInt8] = []
  private var fields = HTTP2ResponseFields()
  /// Bytes for the socket. The memory is borrowed from the worker.
  private var bytes = ByteBuffer()
  /// Body bytes that were queued since the last write to the socket.
  private var queuedBytes = 0
  /// Whether the session must end, because of a violation of the protocol.
  private(set) var isFailed = false
  /// Whether the client has to read heads of responses before it sends further requests.
  private(set) var isBacklogged = false

  /// Maximum length of the socket's queue. Beyond it, responses wait in the queues of their streams, in bytes.
  private static let maximumQueue = 262_144
  /// Maximum length of the heads that wait until the socket's queue has room, in bytes.
  private static let maximumHeads = 65_536
  /// After this number of body bytes, bearerd writes to the socket before the end of the turn.
  private static let maximumDelayed = 16_384
  /// An idle connection keeps no more memory than this for the text of heads, in bytes.
  private static let keptCapacity = 2_048

  init(_ session: HTTP2Session, to connection: ClientConnection) {
    (self.session, stream, connections) = (session, connection.stream, connection.worker.connections)
  }

  // MARK: responses

  enum SentHeads {
    /// There were only interim heads.
    case sent
    /// The last head is held back, at this place.
    case held(Range<Int>)
    /// An interim head was not sent, because the stream has ended or the head is malformed.
    case failed
  }

  /// Sends interim heads, and holds the last one back.
  func send(heads text: Span<UInt8>, of stream: HTTP2Session.StreamID) -> SentHeads {
    var start = heads.count
    heads.append(text)
    while start < heads.count, HTTP2ResponseFields.isInterim(heads, from: start) {
      guard let end = send(from: start, of: stream, endsStream: false) else { return .failed }
      start = end
    }
    return start < heads.count ? .held(start..<heads.count) : .sent
  }

  /// Sends a head that was held back. Returns `false` if it cannot be sent.
  func send(head text: Range<Int>, of stream: HTTP2Session.StreamID, endsStream: Bool) -> Bool {
    send(from: text.lowerBound, of: stream, endsStream: endsStream) != nil
  }

  /// Returns the end of the head, or `nil` if the head was not sent, because the stream has ended or the head is malformed.
  private func send(from start: Int, of stream: HTTP2Session.StreamID, endsStream: Bool) -> Int? {
    defer { limitHeads() }
    return heads.withUnsafeMutableBytes { text in
      do throws(HTTP2Error) {
        return try fields.send(text, from: start, on: stream, endsStream: endsStream, through: session) { append($0) }
      } catch {
        if !error.endsConnection { session.reset(stream, .internalError) }
        return nil
      }
    }
  }

  private func limitHeads() {
    guard bytes.count > ClientStreamsOutput.maximumHeads else { return }
    flush()
    // Only `endBacklog` ends it, because its caller continues what has waited.
    if bytes.count > ClientStreamsOutput.maximumHeads { isBacklogged = true }
  }

  /// Returns whether the client may send requests again.
  func endBacklog() -> Bool {
    if bytes.count <= ClientStreamsOutput.maximumHeads { isBacklogged = false }
    return !isBacklogged
  }

  /// Queues a part of a body.
  func write(_ first: Span<UInt8>, _ second: Span<UInt8>, on stream: HTTP2Session.StreamID) {
    session.write(first, on: stream)
    session.write(second, on: stream)
    queuedBytes += first.count + second.count
    if queuedBytes >= ClientStreamsOutput.maximumDelayed { flush() }
  }

  /// Ends a body.
  /// - Parameter trailers: whole lines.
  func end(_ stream: HTTP2Session.StreamID, trailers: borrowing ByteBuffer) {
    var text = Array(trailers.contents)
    text.withUnsafeMutableBytes { fields.end(stream, trailers: $0, through: session) }
  }

  /// Call this when all heads that were held back have been sent.
  func removeHeads() { heads.removeAll(keepingCapacity: heads.count <= ClientStreamsOutput.keptCapacity) }

  // MARK: the socket

  /// Whether bytes wait until the socket's queue has room.
  var hasBytes: Bool { !bytes.isEmpty || session.hasBytes }

  /// Writes what the session has to the socket, as far as the socket takes it.
  func flush() {
    queuedBytes = 0
    while session.hasBytes || !bytes.isEmpty {
      let room = ClientStreamsOutput.maximumQueue - stream.queuedBytes
      guard room > 0 else { return }
      // A failed session has written its last bytes then.
      do throws(HTTP2Error) { try session.send(atMost: room) { append($0) } } catch { isFailed = true }
      if bytes.isEmpty { return }
      var whole = ByteBuffer()
      swap(&whole, &bytes)
      stream.write(whole.storage.span.extracting(first: whole.count))
      connections.returnOutput(&whole)
      if isFailed { return }
    }
  }

  private func append(_ piece: UnsafeRawBufferPointer) {
    if bytes.isEmpty { connections.borrowOutput(&bytes) }
    bytes.append(Span<UInt8>(_unsafeBytes: piece))
  }
}
