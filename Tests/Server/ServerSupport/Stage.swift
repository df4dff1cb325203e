import StatusModel
package import TestServer
import Foundation
package import TestSupport
package import Testing

/// The environment of a test: a CA, a recording TLS upstream, a secret and a directory.
package final class Stage {
  package let scratch: Scratch
  package let ca: Certificate
  package let leaf: Certificate
  package let backup: Certificate
  package let upstream: UpstreamServer
  /// The secret of the credential `canary`.
  package let canary: String
  private var clients: [LocalClient] = []
  /// Searches of clients whose bytes are not kept.
  package var guardians: [SecretGuard] = []
  package private(set) var daemon: (any TestedDaemon)? {
    willSet { checkLog() }
  }

  package init(
    options: UpstreamServer.Options = .init(),
    handler: (@Sendable (AcceptedConnection) -> Void)? = nil
  ) throws {
    scratch = try Scratch()
    var caOptions = Certificate.Options()
    caOptions.commonName = "test CA"
    caOptions.isCA = true
    ca = try Certificate(caOptions)
    leaf = try Self.leaf(issuer: ca)
    backup = try Self.leaf(issuer: ca)
    canary = "CANARY-" + (0..<24).map { _ in String("abcdefghijkmnpqrstuvwxyz23456789".randomElement()!) }.joined()
    upstream = try UpstreamServer(
      chain: [leaf], options: options,
      handler: handler ?? UpstreamServer.httpHandler(response: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"))
    try scratch.write("ca.pem", ca.pem)
    try scratch.write("canary.token", canary + "\n")
  }

  /// Every test ends with a search for the secret. The daemon is released before the upstream, whose threads end with
  /// its sessions.
  deinit {
    let leaked = SecretGuard.find(Self.encodings(of: canary), in: clientAndLogBytes)
    let wasSeen = guardians.contains { !$0.found.isEmpty }
    #expect(leaked.isEmpty && !wasSeen, "the secret came out")
    checkLog()
    daemon = nil
    upstream.stop()
  }

  /// Asserts that every log line matches the event table.
  private func checkLog() {
    let unexpected = daemon?.log.unexpectedLines ?? []
    #expect(unexpected.isEmpty, "not as the rows of LogEvent say")
  }

  package var log: DaemonLog { daemon!.log }

  package static func leaf(
    issuer: Certificate, names: [String] = ["localhost"], addresses: [String] = ["127.0.0.1", "::1"]
  ) throws -> Certificate {
    var options = Certificate.Options()
    options.commonName = "upstream"
    options.dnsNames = names
    options.ipAddresses = addresses
    return try Certificate(options, issuer: issuer)
  }

  package var origin: String { "https://localhost:\(upstream.port)" }

  /// Returns a configuration with one service `api` at `/api/` and the credential `canary`.
  /// `service` and `credential` are added as indented lines.
  package func configuration(
    service: String = "", credential: String = "bearer: { file: canary.token }", pins: [String]? = nil,
    listener: String = "address: localhost:0", more: String = "", services: String = ""
  ) -> String {
    let pins = pins ?? [leaf.pin, backup.pin]
    // The default path could belong to the user's own daemon.
    let control = Launch.current == .thread && !more.contains("control: ") ? "control: control.sock\n" : ""
    return """
      listeners:
        main:
          \(listener)
          allow_users: [\(getuid())]
      credentials:
        canary:
          origins: ["\(origin)"]
          \(credential)
      services:
        api:
          upstream: \(origin)/base/
          ca_file: ca.pem
          pins: [\(pins.joined(separator: ", "))]
          credential: canary
      \(service.split(separator: "\n").map { "    " + $0 }.joined(separator: "\n"))
      \(services)
      \(control)\(more)
      """
  }

  @discardableResult
  package func start(
    _ configuration: String? = nil, environment: [String: String] = [:], wrapper: [String] = [], passed: [Int32] = []
  ) throws -> any TestedDaemon {
    try begin(configuration ?? self.configuration()) { file in
      switch Launch.current {
      case .process:
        return try RunningDaemon(configuration: file, environment: environment, wrapper: wrapper, passed: passed)
      case .thread:
        guard environment.isEmpty, wrapper.isEmpty, passed.isEmpty else { throw TestFailure("that takes a process") }
        return try ServerThread(configuration: file)
      }
    }
  }

  func begin(_ configuration: String, with launch: (_ file: String) throws -> any TestedDaemon) throws
    -> any TestedDaemon
  {
    let daemon = try launch(try write(configuration))
    self.daemon = daemon
    return daemon
  }

  /// Replaces the configuration and reloads it.
  package func reload(_ configuration: String) throws {
    try write(configuration)
    try daemon!.reload()
  }

  @discardableResult
  private func write(_ configuration: String) throws -> String {
    var text = Self.withWorkers(configuration)
    if Launch.current == .thread, !text.contains("\ncontrol: ") { text += "\ncontrol: control.sock\n" }
    return try scratch.write("bearerd.yaml", text, mode: 0o644)
  }

  /// Sends one line to the control socket and returns the response.
  package func control(_ command: String) throws -> String {
    let client = try LocalClient(unix: scratch.path + "/control.sock")
    try client.send(command + "\n")
    while try !client.isAtEnd() { try client.drain() }
    return String(decoding: client.received, as: UTF8.self)
  }

  /// Adds `workers:` from BEARERD_WORKERS, unless the configuration has it.
  package static func withWorkers(_ configuration: String) -> String {
    guard let count = ProcessInfo.processInfo.environment["BEARERD_WORKERS"], !configuration.contains("\nworkers:")
    else { return configuration }
    return "\(configuration)\nworkers: \(count)\n"
  }

  package func client(_ listener: String = "main") throws -> LocalClient {
    let client = try LocalClient(port: daemon!.port(listener))
    clients.append(client)
    return client
  }

  /// Sends a request on a connection of its own, and closes it after the response. Tests that ask as fast as they can
  /// would otherwise use up the descriptors of the process.
  package func request(_ head: String, body: String = "") throws -> LocalClient.Response {
    let client = try client()
    defer { client.abandon() }
    let port = try daemon!.port()
    try client.send(head.replacingOccurrences(of: "HOST", with: "localhost:\(port)") + body)
    return try client.response(isHead: head.hasPrefix("HEAD"))
  }

  package func get(_ path: String = "/api/x", fields: String = "") throws -> LocalClient.Response {
    try request("GET \(path) HTTP/1.1\r\nHost: HOST\r\n\(fields)\r\n")
  }

  package var recorded: String {
    upstream.records.map { String(decoding: $0.bytes, as: UTF8.self) }.joined(separator: "\n--\n")
  }

  /// Asserts that the secret reached the upstream `times` times, only in the expected field, and appears nowhere else
  /// in any encoding:
  /// not at clients, in the log, or in the daemon's status, metrics and audit file.
  /// - Parameter times: Expected number of occurrences at the upstream.
  package func assertCanary(
    times: Int, as line: String? = nil, secret: String? = nil, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let secret = secret ?? canary
    let expected = line ?? "Authorization: Bearer \(secret)\r\n"
    let seen = upstream.records.map(\.bytes)
    func occurrences(of text: String, in records: [[UInt8]]) -> Int { records.reduce(0) { $0 + $1.count(of: text) } }
    #expect(occurrences(of: expected, in: seen) == times, "in the expected field", sourceLocation: sourceLocation)
    if expected.contains(secret) {
      #expect(occurrences(of: secret, in: seen) == times, "anywhere at the upstream", sourceLocation: sourceLocation)
    }
    let leaked = SecretGuard.find(Self.encodings(of: secret), in: clientAndLogBytes + daemonReports)
    let wasSeen = guardians.contains { !$0.found.isEmpty }
    #expect(leaked.isEmpty && !wasSeen, "the secret came out", sourceLocation: sourceLocation)
  }

  private var clientAndLogBytes: [[UInt8]] { clients.map(\.received) + [daemon?.log.bytes ?? []] }

  private var daemonReports: [[UInt8]] {
    let file = FileManager.default.contents(atPath: scratch.path + "/audit.log").map(Array.init) ?? []
    guard let daemon, daemon.isRunning else { return [file] }
    let metrics = (try? daemon.port("metrics")).flatMap { port in
      try? run(["curl", "--silent", "--max-time", "5", "http://localhost:\(port)/metrics"]).output
    }
    return [file, Array(((try? control("status")) ?? "").utf8), Array((metrics ?? "").utf8)]
  }

  /// The secret as it is, in base64 with its three alignments, and percent-encoded.
  package static func encodings(of secret: String) -> [String] {
    let bytes = Array(secret.utf8)
    var forms = [secret, secret.utf8.map { "%" + String($0, radix: 16, uppercase: true) }.joined()]
    for offset in 0..<3 {
      let padded = Data(repeating: 0, count: offset) + Data(bytes)
      let encoded = padded.base64EncodedString()
      // The characters that do not depend on neighboring bytes.
      forms.append(String(encoded.dropFirst(offset == 0 ? 0 : 4).dropLast(4)))
    }
    return forms
  }
}

extension [UInt8] {
  /// The number of occurrences of a text that do not overlap. Fast also for many megabytes.
  fileprivate func count(of text: String) -> Int {
    let sought = Array(text.utf8)
    return withUnsafeBytes { bytes in
      var (count, start) = (0, 0)
      while let base = bytes.baseAddress, start + sought.count <= bytes.count,
        let found = memchr(base + start, Int32(sought[0]), bytes.count - start - sought.count + 1)
      {
        let isEqual = memcmp(found, sought, sought.count) == 0
        if isEqual { count += 1 }
        start = UnsafeRawPointer(found) - base + (isEqual ? sought.count : 1)
      }
      return count
    }
  }
}
