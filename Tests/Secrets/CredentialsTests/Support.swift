import Foundation
@testable import Credentials
import Secrets
import Settings
import TestServer
import Glibc
import HTTP1
import Policy
import Primitives
import System
import TLS
import TestSupport
import Testing

/// Runs a shell command.
func run(_ command: String) -> (output: String, isSuccess: Bool) {
  guard let pipe = popen("\(command) 2>&1", "r") else { return ("", false) }
  var output: [UInt8] = []
  while case let byte = fgetc(pipe), byte >= 0 { output.append(UInt8(byte)) }
  return (String(decoding: output, as: UTF8.self), pclose(pipe) == 0)
}

func unixTime() -> Int64 { Int64(time(nil)) }

func moment() -> Moment { Moment(calendar: unixTime(), uptime: unixTime()) }

let me = Caller(uid: 1000)

func origin(_ text: String) throws -> Origin { try Origin(parsing: text) }

func grant(
  _ name: String = "api", origins: [String] = ["https://upstream.test"], callers: Set<UInt32>? = nil
) throws -> Grant {
  Grant(
    name: name, origins: try origins.map(origin), callers: callers.map { Callers(uids: $0) },
    fieldNames: ["authorization"])
}

func keyring(_ scheme: AuthScheme, grant: Grant? = nil) throws -> Keyring {
  try Keyring(
    entries: [Keyring.Entry(grant: try grant ?? CredentialsTests.grant(), scheme: scheme)], requireLockedMemory: false)
}

extension Keyring {
  /// - Parameters:
  ///   - pending: files that are still being read, whose credentials keep their previous values until then.
  ///   - previous: the keyring of the previous configuration, whose secret versions continue.
  convenience init(
    entries: [Entry], requireLockedMemory: Bool, commands: CommandValues = CommandValues(),
    files: FileValues = FileValues(), tokens: TokenValues = TokenValues(), pending: Set<SecretSource> = [],
    after previous: Keyring? = nil
  ) throws(AuthorizationError) {
    let draft = try KeyringBuilder(
      KeyringPlan(entries), requireLockedMemory: requireLockedMemory, commands: commands, files: files, tokens: tokens,
      after: previous)
    _ = try draft.build(pending: pending) { true }
    try self.init(draft)
  }
}

/// A TLS upstream, and sessions to it.
final class Upstream {
  let server: UpstreamServer
  private let store: TrustStore
  private let leaf: Certificate

  /// - Parameter selectedProtocol: the protocol that the upstream selects. `nil` to select none.
  init(selectedProtocol: ApplicationProtocol? = nil) throws {
    var options = Certificate.Options()
    options.dnsNames = ["upstream.test", "other.test"]
    leaf = try Certificate(options)
    var serverOptions = UpstreamServer.Options()
    serverOptions.selectedProtocol = selectedProtocol?.rawValue
    store = try TrustStore(pem: Array(leaf.pem.utf8), name: "test")
    server = try UpstreamServer(
      chain: [leaf], options: serverOptions, handler: UpstreamServer.httpHandler(response: "HTTP/1.1 204 \r\n\r\n"))
  }

  deinit { server.stop() }

  enum Pins { case none, matching, reported }

  func session(
    origin text: String = "https://upstream.test", grant: String? = "api", pins: Pins = .none,
    protocols: [ApplicationProtocol] = [.http1]
  ) throws -> Session {
    try Session(context(origin: text, grant: grant, pins: pins, protocols: protocols), port: server.port)
  }

  func context(
    origin text: String = "https://upstream.test", grant: String? = "api", pins: Pins = .none,
    protocols: [ApplicationProtocol] = [.http1]
  ) throws -> ClientContext {
    var trust = TrustPolicy()
    switch pins {
    case .none: break
    case .matching: trust.pinning.pins = [try Pin(parsing: String(leaf.pin.dropFirst("sha256/".count)))]
    case .reported:
      trust.pinning.pins = [try #require(Pin(digest: Array(repeating: 7, count: 32)))]
      trust.pinning.mode = .report
    }
    let identity = SessionIdentity(
      origin: try origin(text), trust: trust, trustFingerprint: store.fingerprint, grant: grant, generation: 1,
      protocols: protocols)
    return try ClientContext(identity: identity, store: store)
  }

  /// Stops the server, and returns the received bytes of each connection.
  func finish() -> [String] {
    server.finish().map { String(decoding: $0.bytes, as: UTF8.self) }
  }
}

/// A verified session over a blocking socket.
struct Session: ~Copyable {
  var verified: VerifiedSession
  private let sink: RecordingSink

  init(_ context: ClientContext, port: UInt16) throws {
    let sink = RecordingSink(descriptor: try connectedSocket(port: port))
    var handshake = try context.handshake(sink: sink, now: moment())
    var progress = try handshake.advance([UInt8]().span)
    while progress == .wantsPeer {
      progress = try handshake.advance(receive(sink.descriptor).span)
    }
    verified = try handshake.verified(now: moment())
    sink.records = 0
    self.sink = sink
  }

  deinit { closeGently(sink.descriptor) }

  /// TLS records sent since the handshake.
  var records: Int { sink.records }

  /// Reads part of a response, and the session tickets before it.
  mutating func read() throws {
    var plaintext: [UInt8] = []
    while plaintext.isEmpty, case let input = receive(sink.descriptor), !input.isEmpty {
      _ = try verified.decrypt(input.span, into: &plaintext)
    }
  }
}

final class RecordingSink: CiphertextSink {
  let descriptor: Int32
  var records = 0

  init(descriptor: Int32) {
    self.descriptor = descriptor
    super.init()
  }

  override func send(_ ciphertext: Span<UInt8>) {
    records += 1
    ciphertext.withUnsafeBytes { bytes in
      var sent = 0
      while sent < bytes.count {
        let count = Glibc.send(descriptor, bytes.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
        guard count > 0 else { return }
        sent += count
      }
    }
  }
}

/// Returns the request that a keyring sends for its first grant. The secret bytes are visible only at the other end of
/// a session.
func sent(_ keyring: Keyring, head: String = "GET / HTTP/1.1\r\nHost: upstream.test\r\n", body: String = "") throws
  -> String
{
  let upstream = try Upstream()
  do {
    var session = try upstream.session()
    try keyring.authorize(grant: 0, request: OutgoingRequest(head), body: Array(body.utf8), over: &session)
  }
  return upstream.finish()[0]
}

extension OutgoingRequest {
  /// Creates a request from the text of an HTTP/1.1 head without the closing empty line.
  init(_ head: String) {
    self.init()
    var lines = head.components(separatedBy: "\r\n").filter { !$0.isEmpty }
    let start = lines.removeFirst().split(separator: " ")
    let host = lines.firstIndex { $0.hasPrefix("Host: ") }.map { lines.remove(at: $0).dropFirst(6) } ?? "upstream.test"
    begin(method: Array(start[0].utf8).span, authority: Array(host.utf8))
    if start.count > 2 { line.append(contentsOf: Array(start[1].utf8)) }
    for line in lines {
      if line.hasPrefix("Content-Length: ") {
        bodyLength = .length(UInt64(line.dropFirst(16)) ?? 0)
      } else if line == "Transfer-Encoding: chunked" {
        bodyLength = .chunked
      } else {
        fields.append(contentsOf: Array((line + "\r\n").utf8))
      }
    }
  }

  /// The text that `init` parses.
  var text: String {
    var output = ByteBuffer()
    RequestWriter.write(self, to: &output)
    return String(decoding: output.contents, as: UTF8.self)
  }
}

extension Keyring {
  func authorize(
    grant: Int, request: OutgoingRequest, body: [UInt8] = [], caller: Caller = me, now: Int64 = unixTime(),
    over session: inout Session
  ) throws(AuthorizationError) {
    try authorize(grant: grant, request: request, body: body.span, caller: caller, now: now, over: &session.verified)
  }
}

extension Keyring {
  var directories: [String] { fileContents.directories.sorted() }

  /// Rereads the files in these directories as if all had changed.
  func reload(directories: Set<String>) -> [Int] {
    let changes = directories.map { DirectoryWatch.Change(directory: $0, name: "") }
    return reload(files: fileContents.changed(changes).map(\.source))
  }

  func reload(grant index: Int) -> Bool { reload(files: files(ofGrant: index)).contains(index) }

  private func reload(files: [SecretSource]) -> [Int] {
    var changed: Set<Int> = []
    for file in files {
      fileContents.store(SecretFileSnapshot(of: file, mustLock: false))
      changed.formUnion(reload(file: file))
    }
    return changed.sorted()
  }
}
