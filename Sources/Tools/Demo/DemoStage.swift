internal import Console
internal import TestServer
internal import Synchronization
internal import System

/// Everything around bearerd in the demo, made for it: authority, upstreams, token, directory, configuration.
final class DemoStage {
  /// The secret that no program is told.
  let token: String
  let directory: ThrowawayDirectory
  /// Has the key that is pinned.
  let upstream: UpstreamServer
  /// Has a certificate for the same name by the same authority, but another key.
  let impostor: UpstreamServer
  let configuration: String
  var configurationFile: String { "\(directory.path)/bearerd.yaml" }
  private let announcer = Announcer()

  init(port: UInt16) throws {
    do {
      let token = DemoStage.randomToken()
      self.token = token
      directory = try ThrowawayDirectory()
      var options = Certificate.Options()
      options.commonName = "bearerd demo CA"
      options.isCA = true
      let authority = try Certificate(options)
      let leaf = try DemoStage.leaf(issuer: authority)
      let backup = try DemoStage.leaf(issuer: authority)
      let answer = { @Sendable [announcer] (request: UpstreamRequest) in announcer.answer(to: request, token: token) }
      upstream = try UpstreamServer(chain: [leaf], handler: UpstreamServer.recordingHTTP(response: answer))
      impostor = try UpstreamServer(
        chain: [DemoStage.leaf(issuer: authority)], handler: UpstreamServer.recordingHTTP(response: answer))
      configuration = demoConfiguration(
        port: port, uid: Users.currentUID, upstream: upstream.port, impostor: impostor.port,
        pins: [leaf.pin, backup.pin])
      try directory.write("ca.pem", authority.pem)
      try directory.write("demo.token", token + "\n")
      try directory.write("bearerd.yaml", configuration)
    } catch let error as TestServerError {
      throw Failure(Failure.system, error.description)
    }
  }

  /// A line of standard output for each request that an upstream receives from now on.
  var announcesRequests: Bool {
    get { announcer.isOn }
    set { announcer.isOn = newValue }
  }

  func end() {
    upstream.stop()
    impostor.stop()
    directory.remove()
  }

  static func leaf(issuer: Certificate) throws -> Certificate {
    var options = Certificate.Options()
    options.commonName = "localhost"
    options.dnsNames = ["localhost"]
    options.ipAddresses = ["127.0.0.1", "::1"]
    return try Certificate(options, issuer: issuer)
  }

  private static func randomToken() -> String {
    let letters = Array("abcdefghjkmnpqrstuvwxyz23456789")
    var generator = SystemRandomNumberGenerator()
    return "demo-" + String((0..<11).map { _ in letters[Int.random(in: 0..<letters.count, using: &generator)] })
  }
}

/// The upstream's application: it knows one token.
private final class Announcer: Sendable {
  private let state = Mutex(false)

  var isOn: Bool {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }

  func answer(to request: UpstreamRequest, token: String) -> [UInt8] {
    let lines = String(decoding: request.head, as: UTF8.self).split(separator: "\r\n").map { String($0).harmless }
    let authorization = lines.first { $0.lowercased().hasPrefix("authorization:") }
    if isOn {
      let line = lines.first.map { $0.hasSuffix(" HTTP/1.1") ? String($0.dropLast(9)) : $0 } ?? ""
      StandardOutput.print("upstream received  \(line)   \(authorization ?? "(no credential)")\n")
    }
    let isKnown = authorization == "Authorization: Bearer \(token)"
    return DemoWords.answer(isKnown ? "Hello. Your token is right.\n" : nil)
  }
}

/// The words of a demo's upstream.
enum DemoWords {
  /// - Parameter words: nil: it does not know who asks.
  static func answer(_ words: String?) -> [UInt8] {
    let body = words ?? "I do not know you.\n"
    return Array(
      """
      HTTP/1.1 \(words == nil ? "401 Unauthorized" : "200 OK")\r
      Content-Type: text/plain\r
      Content-Length: \(body.utf8.count)\r
      \r
      \(body)
      """.utf8)
  }
}
