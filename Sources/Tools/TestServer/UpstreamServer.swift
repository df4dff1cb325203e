internal import COpenSSL
internal import Crypto
internal import Glibc

// `@unchecked`: `state` has a lock, and only `init` and the first `stop` or `finish` change another property.
// The server shares no code with the modules `EventLoop` and `TLS`, so that tests detect bugs in these modules.
/// A small TLS server for the demo, the self-test and tests, which runs until `stop` or `finish`.
package final class UpstreamServer: @unchecked Sendable {
  package struct Options: Sendable {
    package var address = "127.0.0.1"
    /// The port to listen on; 0 for a free port.
    package var port: UInt16 = 0
    /// The only TLS version that the server accepts (0x0303 is 1.2, 0x0304 is 1.3); `nil` for both.
    package var tlsVersion: Int32?
    /// Whether the server issues session tickets, which stay valid after `replaceCertificates`.
    package var allowResumption = true
    /// Whether the server uses plain HTTP. The chain may then be empty.
    package var isPlain = false
    /// The certificate authorities for client certificates; empty to request no client certificate.
    package var clientAuthorities: [Certificate] = []
    package var requiresClientCertificate = false
    /// The cipher list for TLS 1.2, in OpenSSL's syntax; `nil` for OpenSSL's default.
    package var ciphers: String?
    /// The OCSP response to staple, if a client asks for one; `nil` to staple none.
    package var staple: [UInt8]?
    /// The protocol that the server selects with ALPN, also if the client has not offered it; `nil` to select none.
    package var selectedProtocol: String?
    /// The protocols that the server supports, best first: it selects the first that the client has offered, or none.
    /// Applies if `selectedProtocol` is `nil`.
    package var protocols: [String] = []
    package init() {}
  }

  package struct Record: Sendable {
    package let connection: Int
    package internal(set) var serverName: String?
    package internal(set) var handshakeCompleted = false
    /// The common name in the client's certificate; `nil` without a certificate.
    package internal(set) var clientName: String?
    package internal(set) var isResumed = false
    /// Number of the connection that issued the resumed session's ticket; `nil` without a valid ticket.
    package internal(set) var resumedFrom: Int?
    /// The TLS version, such as `TLSv1.3`; empty until the handshake is complete.
    package internal(set) var version = ""
    /// The protocol that the server has selected with ALPN; `nil` without a selection.
    package internal(set) var applicationProtocol: String?
    /// The streams, if the handler speaks HTTP/2.
    package internal(set) var http2 = HTTP2Record()
    /// All received application bytes, including bytes that the handler did not read. With HTTP/2, the requests as HTTP/1.1
    /// text, each part when it arrives.
    package internal(set) var bytes: [UInt8] = []
    /// Number of application bytes that were sent, as far as the client's kernel and this one's took them.
    package internal(set) var sentBytes = 0
    package internal(set) var isFinished = false
  }

  package let port: UInt16
  private let options: Options
  private let handler: @Sendable (AcceptedConnection) -> Void
  private let listener: Int32
  /// A pipe that tells the accepting thread to stop.
  private let wakeUp: (reading: Int32, writing: Int32)
  private let ticketKeys: [UInt8]
  private let state: Monitor<State>
  private var acceptor: Thread?

  private struct State {
    var context: ServerContext?
    var records: [UpstreamServer.Record] = []
    var threads: [Int: Thread] = [:]
    var open: Set<Int32> = []
    var isStopping = false
    var isStopped = false
  }

  /// - Parameters:
  ///   - chain: The server's certificate, followed by the intermediate certificates to send.
  ///   - handler: Runs on a thread of the connection. When it returns, the server closes the connection.
  package init(
    chain: [Certificate], options: Options = Options(), handler: @escaping @Sendable (AcceptedConnection) -> Void
  ) throws {
    self.options = options
    self.handler = handler
    // Before the first call of OpenSSL, also for a server without TLS.
    OpenSSLLibrary.start()
    var keys = [UInt8](repeating: 0, count: ServerContext.ticketKeyCount)
    RAND_bytes(&keys, Int32(keys.count))
    ticketKeys = keys
    let context = options.isPlain ? nil : try ServerContext(chain: chain, options: options, ticketKeys: keys)
    state = Monitor(State(context: context))
    (listener, port) = try listeningSocket(address: options.address, port: options.port)
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw TestServerError.system("pipe") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    wakeUp = (ends[0], ends[1])
    acceptor = try Thread { [self] in acceptConnections() }
  }

  package func replaceCertificates(_ chain: [Certificate]) throws {
    let context = try ServerContext(chain: chain, options: options, ticketKeys: ticketKeys)
    state.withLock { $0.context = context }
  }

  /// The records of all connections so far, including failed handshakes.
  package var records: [Record] {
    state.withLock { $0.records }
  }

  /// Waits at most 10 seconds until the records satisfy the condition. Returns `false` after a timeout.
  @discardableResult
  package func wait(until condition: ([Record]) -> Bool) -> Bool {
    state.wait(seconds: 10) { condition($0.records) }
  }

  /// Accepts only the connections that are already waiting, and waits until all connections end.
  /// Do not call this from a handler.
  @discardableResult
  package func finish() -> [Record] {
    end(cutting: false)
    return records
  }

  /// Closes all connections, and waits for all threads. Do not call this from a handler.
  package func stop() {
    end(cutting: true)
  }

  private func end(cutting: Bool) {
    let isFirst = state.withLock { state in
      defer { state.isStopping = true }
      return !state.isStopping
    }
    guard isFirst else {
      _ = state.wait(seconds: 60) { $0.isStopped }
      return
    }
    var byte: UInt8 = 0
    write(wakeUp.writing, &byte, 1)
    acceptor?.join()
    acceptor = nil
    if cutting {
      state.withLock { state in
        for descriptor in state.open { shutdown(descriptor, Int32(SHUT_RDWR)) }
      }
    }
    for thread in state.withLock({ Array($0.threads.values) }) { thread.join() }
    for descriptor in [listener, wakeUp.reading, wakeUp.writing] { close(descriptor) }
    state.withLock { state in
      state.threads = [:]
      state.isStopped = true
    }
  }

  private func acceptConnections() {
    while true {
      var waiting = [listener, wakeUp.reading].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      poll(&waiting, 2, -1)
      while case let descriptor = accept(listener, nil, nil), descriptor >= 0 {
        begin(descriptor)
      }
      if state.withLock({ $0.isStopping }) { return }
    }
  }

  private func begin(_ descriptor: Int32) {
    prepareConnection(descriptor)
    let (number, context) = state.withLock { state in
      let number = state.records.count
      state.records.append(Record(connection: number))
      state.open.insert(descriptor)
      return (number, state.context)
    }
    do {
      let thread = try Thread { [self] in serve(descriptor, number: number, context: context) }
      state.withLock { $0.threads[number] = thread }
      joinFinished()
    } catch {
      finish(descriptor, number: number)
    }
  }

  private func joinFinished() {
    // A thread keeps its stack until it is joined.
    let finished = state.withLock { state in
      let numbers = state.threads.keys.filter { state.records[$0].isFinished }
      return numbers.compactMap { state.threads.removeValue(forKey: $0) }
    }
    for thread in finished { thread.join() }
  }

  private func serve(_ descriptor: Int32, number: Int, context: ServerContext?) {
    let connection = AcceptedConnection(number: number, descriptor: descriptor, context: context) { [state] change in
      state.withLock { change(&$0.records[number]) }
    }
    if connection.handshake() {
      handler(connection)
      connection.close()
      connection.drain()
    }
    finish(descriptor, number: number)
  }

  private func finish(_ descriptor: Int32, number: Int) {
    state.withLock { state in
      // Under the lock: `stop` must not shut down a descriptor that a new connection has reused
      state.open.remove(descriptor)
      close(descriptor)
      state.records[number].isFinished = true
    }
  }
}
