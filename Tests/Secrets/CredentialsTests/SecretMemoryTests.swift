import Credentials
import Secrets
import Settings
import TestServer
import Glibc
import HTTP1
import HTTP2
import Policy
import TLS
import TestSupport
import Testing

/// Searches the memory of the process for a secret.
@Suite struct SecretMemoryTests {
  @Test(.enabled(if: !isSanitized)) func `T50: a secret is only in its own pages, and nowhere after it is replaced`()
    async
  {
    await #expect(processExitsWith: .success) {
      let scratch = try Scratch()
      let path = "\(scratch.path)/token"
      // The shell decodes the secret (ROT13), so that this process has no copy of its own.
      #expect(run("umask 077; echo PNANEL-\(encodedTail) | tr A-Za-z N-ZA-Mn-za-m > \(path)").isSuccess)
      var keyring: Keyring? = try Keyring(
        entries: [Keyring.Entry(grant: try grant(), scheme: .bearer(.file(path)))], requireLockedMemory: false)
      try #require(keyring?.status(ofGrant: 0).problem == nil)
      // Three expected copies: the value of the file, the prepared field, and the pattern for masking. Finding them
      // also shows that the search works.
      #expect(occurrences(of: "PNANEL-\(encodedTail)") == 3)

      let upstream = try OtherProcess(scratch)
      var session: Session? = try upstream.session()
      for _ in 0..<100 {
        let request = OutgoingRequest("GET / HTTP/1.1")
        try keyring?.authorize(
          grant: 0, request: request, body: [UInt8]().span, caller: me, now: unixTime(), over: &session!.verified)
      }
      #expect(occurrences(of: "PNANEL-\(encodedTail)") == 3)
      session = nil
      #expect(run("umask 077; echo PNANEL-x\(encodedTail) | tr A-Za-z N-ZA-Mn-za-m > \(path)").isSuccess)
      #expect(keyring?.reload(directories: [scratch.path]) == [0])
      #expect(occurrences(of: "PNANEL-\(encodedTail)") == 0)
      keyring = nil
      #expect(occurrences(of: "PNANEL-x\(encodedTail)") == 0)
    }
  }

  @Test(.enabled(if: !isSanitized)) func `T50: HTTP/2 leaves no copy of a secret, also not in the memory of nghttp2`()
    async
  {
    await #expect(processExitsWith: .success) {
      let scratch = try Scratch()
      let path = "\(scratch.path)/token"
      // Characters that HPACK does not shorten, so that the compressed bytes contain the secret as it is.
      #expect(run("umask 077; echo 'PNANEL-\(incompressibleTail)' | tr A-Za-z N-ZA-Mn-za-m > \(path)").isSuccess)
      let header = HeaderTemplate(name: "X-Key", prefix: "", value: .secret(.file(path)))
      var keyring: Keyring? = try Keyring(
        entries: [Keyring.Entry(grant: try grant(), scheme: .headers([header]))], requireLockedMemory: false)
      try #require(keyring?.status(ofGrant: 0).problem == nil)
      let copies = occurrences(of: "PNANEL-\(incompressibleTail)")
      #expect(copies > 0)

      let upstream = try OtherProcess(scratch, selecting: .http2)
      var session: Session? = try upstream.session()
      var connection: HTTP2Session? = try HTTP2Session(.client)
      for _ in 0..<50 {
        try keyring?.authorize(
          grant: 0, request: OutgoingRequest("GET / HTTP/1.1"), body: [UInt8]().span, endsBody: true, caller: me,
          now: unixTime(), through: connection!, over: &session!.verified)
      }
      #expect(occurrences(of: "PNANEL-\(incompressibleTail)") == copies)
      connection = nil
      session = nil
      keyring = nil
      #expect(occurrences(of: "PNANEL-\(incompressibleTail)") == 0)
    }
  }
}

private let encodedTail = "sbyybj-gur-juvgr-enoovg"
private let incompressibleTail = "|~|~|~|~|sbyybj|~|~|~|~|gur-juvgr-enoovg"

/// A server in another process, so that its decrypted bytes are not in the memory of this process.
private struct OtherProcess {
  let context: ClientContext
  let port: UInt16
  private let pipe: UnsafeMutablePointer<FILE>

  init(_ scratch: Scratch, selecting applicationProtocol: ApplicationProtocol = .http1) throws {
    var options = Certificate.Options()
    options.dnsNames = ["upstream.test"]
    let leaf = try Certificate(options)
    let file = try scratch.write("server.pem", leaf.pem + leaf.keyPEM)
    let alpn = applicationProtocol == .http1 ? "" : "-alpn \(applicationProtocol.rawValue) "
    pipe = try #require(
      popen("timeout 30 openssl s_server -accept 127.0.0.1:0 -cert '\(file)' -naccept 1 -rev \(alpn)2>&1", "r"))
    port = try Self.port(announcedIn: pipe)
    let store = try TrustStore(pem: Array(leaf.pem.utf8), name: "test")
    let identity = SessionIdentity(
      origin: try origin("https://upstream.test"), trust: TrustPolicy(), trustFingerprint: store.fingerprint,
      grant: "api", generation: 1, protocols: [applicationProtocol])
    context = try ClientContext(identity: identity, store: store)
  }

  func session() throws -> Session { try Session(context, port: port) }

  /// `ACCEPT 127.0.0.1:37525`
  private static func port(announcedIn pipe: UnsafeMutablePointer<FILE>) throws -> UInt16 {
    var line = [CChar](repeating: 0, count: 256)
    while fgets(&line, 256, pipe) != nil {
      let text = String(decoding: line.prefix { $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      guard text.hasPrefix("ACCEPT"), let port = text.split(separator: ":").last.flatMap({ UInt16($0) }) else {
        continue
      }
      return port
    }
    throw ServerFailed()
  }

  struct ServerFailed: Error {}
}
