import Gateway
import Lifecycle
import Policy
@testable import Providers
import Secrets
import Settings
import Testing
import Transport

/// `TokenWaiters` with a virtual clock: which requests wait for a token, and what the first worker learns (T40, T41).
@Suite struct TokenWaitersTests {
  private final class Host: TokenWaitersHost {
    /// Demands, changes and ends of waits, in order.
    var events: [String] = []
    var fileWaits: [SecretWait] = []
    var canOffer = true

    func send(_ demand: TokenDemand) {
      switch demand.kind {
      case .token: events.append("token")
      case .use: events.append("use")
      case .replacement(let version): events.append("replace \(version)")
      case .offer(let version, _): events.append("offer after \(version)")
      }
    }

    func waitForFiles(of source: TokenSource, onEnd: @escaping () -> Void) -> SecretWait? {
      let wait = SecretWait(onEnd: onEnd)
      fileWaits.append(wait)
      return wait
    }

    func changeValue(of source: TokenSource, _ change: (TokenValues) -> Void) { events.append("value") }

    func offer(_ value: Span<UInt8>, lifetime: UInt64?, of source: TokenSource) -> TokenOffer? {
      canOffer ? try? TokenOffer(value, lifetime: lifetime, mustLock: false) : nil
    }

    func problem(ofGrant index: Int) -> String? { "problem of \(index)" }
    func tokenStatusChanged() { events.append("status") }

    /// Returns the events since the last call.
    func take() -> [String] {
      defer { events = [] }
      return events
    }
  }

  private static func source(_ credential: String, hasFiles: Bool = false) throws -> TokenSource {
    var source = TokenSource(
      credential: credential, endpoint: try Endpoint(parsing: "https://login.example.com/token"),
      grant: .clientCredentials,
      client: TokenClient(
        id: "bearerd", authentication: hasFiles ? .basic(.file("/nonexistent/secret")) : .none))
    source.timeout = 30_000
    return source
  }

  private let time = VirtualTime()
  private let host = Host()
  private let waiters: TokenWaiters
  /// The tokens of the grants 1 and 2. The grants 0 and 3 use none.
  private let plain: TokenSource
  private let withFiles: TokenSource

  init() throws {
    plain = try Self.source("plain")
    withFiles = try Self.source("files", hasFiles: true)
    waiters = TokenWaiters([nil, plain, withFiles, nil], time: time, host: host)
  }

  private func status(
    version: UInt64 = 0, usableFor: UInt64 = 0, isRenewing: Bool = false, _ reason: Renewal.Reason? = nil,
    rejected: UInt64 = 0
  ) -> TokenStatus {
    var status = TokenStatus()
    status.renewal.tokenVersion = version
    status.renewal.usableUntil = usableFor == 0 ? 0 : time.bootTime + usableFor
    status.renewal.isRenewing = isRenewing
    status.renewal.reason = reason
    status.rejectedVersion = rejected
    return status
  }

  private func wait(_ name: String = "", grant: Int = 1, hasCheckedFiles: Bool = true) -> SecretWait? {
    waiters.wait(forGrant: grant, hasCheckedFiles: hasCheckedFiles) { [host] isAsked in
      host.events.append("end\(name) \(isAsked ? "asked" : "files")")
    }
  }

  private func replace(_ version: UInt64, _ name: String = "") -> SecretWait? {
    waiters.replace(version, ofGrant: 1) { [host] isReplaced in
      host.events.append("\(isReplaced ? "replaced" : "kept")\(name)")
    }
  }

  // MARK: requests without a token

  @Test func `T40: requests wait for the first token, and go on after the token is in use`() {
    let first = wait(" 1")
    #expect(host.take() == ["token"])
    waiters.updateStatus(of: plain, to: status(isRenewing: true))
    let second = wait(" 2")
    #expect(host.take() == ["status"], "the token is already being requested")
    waiters.change(plain, status(version: 1, usableFor: 60_000)) { _ in }
    #expect(host.take() == ["value", "status", "end 1 asked", "end 2 asked"])
    #expect(first?.isDone == true && second?.isDone == true && !time.hasTimers)
    #expect(wait() == nil && waiters.failure(ofGrant: 1) == nil)
  }

  @Test func `T40: a token is used until the end of its time, and its first use is reported once`() {
    waiters.updateStatus(of: plain, to: status(version: 1, usableFor: 1_000))
    _ = host.take()
    for _ in 0..<3 { #expect(wait() == nil && waiters.failure(ofGrant: 1) == nil) }
    #expect(host.take() == ["use"])
    time.advance(999)
    #expect(wait() == nil)
    time.advance(1)
    #expect(waiters.failure(ofGrant: 1)?.refusal == .tokenUnavailable(1_000))
    let late = wait()
    #expect(late != nil && host.take() == ["token"])
    waiters.updateStatus(of: plain, to: status(version: 2, usableFor: 1_000))
    _ = host.take()
    #expect(wait() == nil && host.take() == ["use"], "the new token is another one")
  }

  @Test func `T40: a request waits at most as long as a token request may take`() {
    let first = wait(" 1")
    time.advance(10_000)
    let second = wait(" 2")
    _ = host.take()
    time.advance(19_999)
    #expect(host.take().isEmpty)
    time.advance(1)
    #expect(host.take() == ["end 1 asked"] && first?.isDone == true)
    time.advance(10_000)
    #expect(host.take() == ["end 2 asked"] && second?.isDone == true && !time.hasTimers)
    #expect(waiters.failure(ofGrant: 1)?.refusal == .tokenUnavailable(1_000))
    #expect(waiters.failure(ofGrant: 1)?.detail == "problem of 1")
  }

  @Test func `a request whose client disconnects is not called back`() {
    let cancelled = wait()
    cancelled?.cancel()
    _ = host.take()
    waiters.updateStatus(of: plain, to: status(version: 1, usableFor: 1_000))
    time.advance(60_000)
    #expect(host.take() == ["status"] && cancelled?.isDone == true)
  }

  @Test func `T40: requests are refused without waiting while no token can be requested, and wait again afterwards`() {
    let until = time.bootTime + 5_000
    let rows: [(Renewal.Reason, Refusal)] = [
      (.loginRequired, .plain(.loginRequired)), (.unavailable(until: until), .tokenUnavailable(5_000)),
      (.notStored(until: until), .tokenUnavailable(5_000, .notStored)),
      (.tooManyRenewals(until: until), .tokenUnavailable(5_000, .storm)),
    ]
    for (reason, refusal) in rows {
      waiters.updateStatus(of: plain, to: status(reason))
      _ = host.take()
      #expect(wait() == nil && host.take().isEmpty, "\(reason)")
      #expect(waiters.failure(ofGrant: 1)?.refusal == refusal)
    }
    waiters.updateStatus(of: plain, to: status(.unavailable(until: until)))
    time.advance(4_999)
    #expect(waiters.failure(ofGrant: 1)?.refusal == .tokenUnavailable(1) && wait() == nil)
    _ = host.take()
    time.advance(1)
    #expect(wait() != nil && host.take() == ["token"])
  }

  @Test func `requests end their wait when a token request fails`() {
    let first = wait()
    waiters.updateStatus(of: plain, to: status(isRenewing: true))
    _ = host.take()
    waiters.updateStatus(of: plain, to: status(.unavailable(until: time.bootTime + 1)))
    #expect(host.take() == ["status", "end asked"] && first?.isDone == true)
  }

  @Test func `T44: before a refusal, the secret files of the token endpoint are checked once`() throws {
    waiters.updateStatus(of: withFiles, to: status(.loginRequired))
    _ = host.take()
    #expect(wait(grant: 2, hasCheckedFiles: false) != nil && host.fileWaits.count == 1)
    try #require(host.fileWaits.first).end()
    #expect(host.take() == ["end files"])
    #expect(wait(grant: 2, hasCheckedFiles: true) == nil)
    // A token that can be requested needs no check.
    waiters.updateStatus(of: withFiles, to: status())
    #expect(wait(grant: 2, hasCheckedFiles: false) != nil && host.fileWaits.count == 1)
  }

  @Test func `grants without a token never wait`() {
    for grant in [0, 3, 4, -1] {
      #expect(waiters.needsNoWait(forGrant: grant) && waiters.status(ofGrant: grant) == nil)
      #expect(wait(grant: grant) == nil && waiters.failure(ofGrant: grant) == nil)
      #expect(waiters.tokenVersion(ofGrant: grant) == 0)
      #expect(waiters.replace(1, ofGrant: grant) { _ in } == nil)
    }
    time.turn()
    #expect(host.take().isEmpty)
  }

  // MARK: rejected tokens

  @Test func `T41: requests whose token was rejected wait for one newer token`() {
    waiters.updateStatus(of: plain, to: status(version: 3, usableFor: 60_000))
    _ = host.take()
    let waits = [replace(3, " 1"), replace(3, " 2")]
    #expect(host.take().isEmpty, "nothing happens within the call")
    time.turn()
    #expect(host.take() == ["replace 3", "replace 3"], "until the first worker has answered, each may be the first")
    waiters.updateStatus(of: plain, to: status(version: 3, isRenewing: true, rejected: 3))
    _ = host.take()
    let third = replace(3, " 3")
    time.turn()
    #expect(host.take().isEmpty, "the replacement is already being requested")
    waiters.updateStatus(of: plain, to: status(version: 4, usableFor: 60_000, rejected: 3))
    #expect(host.take() == ["status", "replaced 1", "replaced 2", "replaced 3"])
    #expect((waits + [third]).allSatisfy { $0?.isDone == true } && !time.hasTimers)
    // The token was replaced while the upstream had the request.
    let late = replace(3)
    time.turn()
    #expect(host.take() == ["replaced"] && late != nil)
    #expect(waiters.tokenVersion(ofGrant: 1) == 4)
  }

  @Test func `T41: a request keeps its rejection if no newer token can be requested or none arrives in time`() {
    waiters.updateStatus(of: plain, to: status(version: 3, usableFor: 60_000))
    let refused = replace(3, " refused")
    time.turn()
    waiters.updateStatus(of: plain, to: status(version: 3, .loginRequired, rejected: 3))
    #expect(host.take() == ["status", "replace 3", "status", "kept refused"] && refused?.isDone == true)
    waiters.updateStatus(of: plain, to: status(version: 3, isRenewing: true, rejected: 3))
    let slow = replace(3, " slow")
    time.advance(29_999)
    _ = host.take()
    time.advance(1)
    #expect(host.take() == ["kept slow"] && slow?.isDone == true)
    #expect(replace(0) == nil, "the request had no token")
  }

  @Test func `T41: a rejection whose request does not wait is reported, too`() {
    waiters.updateStatus(of: plain, to: status(version: 3, usableFor: 60_000))
    _ = host.take()
    waiters.replace(3, ofGrant: 1)
    waiters.replace(2, ofGrant: 1)
    #expect(host.take() == ["replace 3"], "2 is replaced already")
  }

  // MARK: tokens from upstreams

  @Test func `a new cookie of an upstream is offered at most once per second, and only for the current token`() {
    waiters.updateStatus(of: plain, to: status(version: 3, usableFor: 60_000))
    _ = host.take()
    let bytes = Array("SESSION".utf8)
    func offer(after version: UInt64) -> [String] {
      waiters.offer(bytes.span, lifetime: nil, after: version, ofGrant: 1)
      return host.take()
    }
    #expect(offer(after: 2).isEmpty && offer(after: 0).isEmpty)
    #expect(offer(after: 3) == ["offer after 3"])
    time.advance(999)
    #expect(offer(after: 3).isEmpty)
    time.advance(1)
    host.canOffer = false
    #expect(offer(after: 3).isEmpty)
    host.canOffer = true
    #expect(offer(after: 3) == ["offer after 3"], "an offer that was not made does not count")
  }

  // MARK: reload and end

  @Test func `a reload keeps the status of tokens, and ends the waits for replacements of removed ones`() throws {
    let other = try Self.source("other")
    waiters.updateStatus(of: withFiles, to: status(version: 7, usableFor: 60_000))
    waiters.updateStatus(of: plain, to: status(version: 3, usableFor: 60_000))
    let wait = replace(3)
    time.turn()
    _ = host.take()
    waiters.update(to: [withFiles, other, withFiles])
    #expect(host.take().isEmpty, "nothing happens within the call")
    time.turn()
    #expect(host.take() == ["kept"] && wait?.isDone == true)
    #expect([0, 1, 2, 3].map { waiters.tokenVersion(ofGrant: $0) } == [7, 0, 7, 0])
    // Several grants with the same token have the same status.
    waiters.updateStatus(of: withFiles, to: status(version: 8, usableFor: 60_000))
    #expect([0, 2].map { waiters.tokenVersion(ofGrant: $0) } == [8, 8])
    waiters.updateStatus(of: plain, to: status(version: 9, usableFor: 60_000))
    #expect([0, 1, 2, 3].map { waiters.tokenVersion(ofGrant: $0) } == [8, 0, 8, 0])
  }

  @Test func `closing ends all waits, and afterwards nothing waits`() {
    let first = wait()
    waiters.updateStatus(of: withFiles, to: status(version: 1, usableFor: 60_000))
    let second = waiters.replace(1, ofGrant: 2) { [host] in host.events.append("replaced \($0)") }
    _ = host.take()
    waiters.close()
    #expect(host.take() == ["end asked", "replaced false"] && first?.isDone == true && second?.isDone == true)
    #expect(wait() == nil && replace(1) == nil && !time.hasTimers)
  }
}
