internal import COpenSSL
internal import Glibc

/// A small TLS server for demo, self-test and tests: blocking, a thread per connection, records every byte it gets.
/// Independent of EventLoop and TLS, so that a mistake there cannot hide itself. Lives until `stop` or `finish`.
///
/// Unchecked: what threads share is behind `state`. The rest never changes, but for `acceptor`: only `init` and the one
/// owner's stop touch it.
package final class UpstreamServer: @unchecked Sendable {
  package struct Options: Sendable {
    package var address = "127.0.0.1"
    /// 0: a free one.
    package var port: UInt16 = 0
    /// OpenSSL's number (0x0303: 1.2, 0x0304: 1.3). nil: both 1.2 and 1.3.
    package var tlsVersion: Int32?
    /// Session tickets, which outlive `replaceCertificates`.
    package var allowResumption = true
    /// No TLS at all: the chain may be empty, and `Record.handshakeCompleted` stays false.
    package var isPlain = false
    /// Whose certificates clients are asked for; none: they are not asked.
    package var clientAuthorities: [Certificate] = []
    /// Whether a client without a certificate is refused.
    package var requiresClient = false
    /// Ciphers of TLS 1.2, as OpenSSL writes them; nil: its default.
    package var ciphers: String?
    package init() {}
  }

  package struct Record: Sendable {
    package let connection: Int
    package internal(set) var serverName: String?
    package internal(set) var handshakeCompleted: Bool
    /// The common name in the client's certificate, also where the handshake failed. nil: none came.
    package internal(set) var clientName: String?
    package internal(set) var isResumed: Bool
    /// The connection that was given the ticket with which this one was resumed.
    package internal(set) var resumedFrom: Int?
    /// `TLSv1.3`; empty before a handshake completed.
    package internal(set) var version: String
    /// Every application byte received, also those that the handler did not read.
    package internal(set) var bytes: [UInt8]
    /// The connection is over: nothing will be added.
    package internal(set) var isFinished: Bool
  }

  package let port: UInt16
  private let options: Options
  private let handler: @Sendable (UpstreamConnection) -> Void
  private let listener: Int32
  /// Ends the acceptor's `poll`. (A `shutdown` of the listener would drop what waits in its backlog.)
  private let wakeUp: (reading: Int32, writing: Int32)
  private let ticketKeys: [UInt8]
  private let state: Monitor<State>
  private var acceptor: Thread?

  private struct State {
    var context: ServerContext?
    var records: [UpstreamServer.Record] = []
    /// By connection.
    var threads: [Int: Thread] = [:]
    /// Descriptors of open connections.
    var open: Set<Int32> = []
    var isStopping = false
    var isStopped = false
  }

  /// `chain`: leaf first, then intermediates to send. `handler` runs on the connection's own thread; when it returns, the
  /// connection is closed and what the peer still sends is recorded.
  package init(
    chain: [Certificate], options: Options = Options(), handler: @escaping @Sendable (UpstreamConnection) -> Void
  ) throws {
    self.options = options
    self.handler = handler
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

  /// For connections from now on.
  package func replaceCertificates(_ chain: [Certificate]) throws {
    let context = try ServerContext(chain: chain, options: options, ticketKeys: ticketKeys)
    state.withLock { $0.context = context }
  }

  /// All connections so far, TLS failures included. Complete after `finish` or `stop`.
  package var records: [Record] {
    state.withLock { $0.records }
  }

  /// Waits until the records are as wanted, at most 10 seconds; false if they did not become so.
  @discardableResult
  package func wait(until condition: ([Record]) -> Bool) -> Bool {
    state.wait(seconds: 10) { condition($0.records) }
  }

  /// Accepts what has connected already and nothing more, lets these connections come to their end (their peers close, or
  /// 10 seconds pass), and returns all records. Not from a handler.
  @discardableResult
  package func finish() -> [Record] {
    end(cutting: false)
    return records
  }

  /// Cuts all connections, joins all threads, closes everything. Not from a handler. Once more does nothing.
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
      state.records.append(
        Record(
          connection: number, serverName: nil, handshakeCompleted: false, clientName: nil, isResumed: false,
          resumedFrom: nil,
          version: "",
          bytes: [], isFinished: false))
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

  /// A thread that is not joined keeps its stack.
  private func joinFinished() {
    let finished = state.withLock { state in
      let numbers = state.threads.keys.filter { state.records[$0].isFinished }
      return numbers.compactMap { state.threads.removeValue(forKey: $0) }
    }
    for thread in finished { thread.join() }
  }

  private func serve(_ descriptor: Int32, number: Int, context: ServerContext?) {
    let connection = UpstreamConnection(number: number, descriptor: descriptor, context: context) { [state] change in
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
      // Under the lock, so that `stop` never shuts down a number that means another connection by now
      state.open.remove(descriptor)
      close(descriptor)
      state.records[number].isFinished = true
    }
  }
}
