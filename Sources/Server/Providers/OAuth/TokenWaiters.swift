internal import Configuration
internal import Credentials
internal import EventLoop
internal import Gateway
internal import Lifecycle
internal import Secrets
internal import Setup
internal import System
package import Transport

/// Tokens as one worker has them: how each stands, and the requests that wait for one. Endpoints are asked in one place for all
/// workers.
///
/// A request goes out with a token that counts, or not at all (T40): the clock that goes on in sleep is asked for each.
package final class TokenWaiters {
  private unowned let providers: CredentialProviders
  /// By grant; nil: its value comes from elsewhere.
  private var rows: [Row?] = []
  /// The rows by their sources.
  private var known: [TokenSource: [Row]] = [:]
  private var waits = WaitQueue<Wait>()
  let fileChecks: TokenFileChecks
  private var isClosed = false
  /// On the first worker, where endpoints are asked.
  var onWish: ((TokenDemand) -> Void)?

  private final class Row {
    let source: TokenSource
    var standing = TokenStatus()
    /// When a value that an upstream had set was told of.
    var offeredAt: UInt64 = 0
    /// Whether the use of the token has been reported since it was granted.
    var isUseTold = false

    /// Whether some of its secrets are in files.
    let hasFiles: Bool

    init(_ source: TokenSource) {
      self.source = source
      hasFiles = !source.files.isEmpty
    }
  }

  private final class Wait: SecretWait {
    fileprivate let row: Row
    /// The number of the token that an upstream has rejected; nil: any token will do.
    fileprivate let rejected: UInt64?
    /// Ends the wait when it has taken too long: at this time of the loop.
    fileprivate var patience: TimedCall?
    fileprivate var latestEnd: UInt64 = 0

    fileprivate init(row: Row, rejected: UInt64? = nil, onEnd: @escaping () -> Void) {
      self.row = row
      self.rejected = rejected
      super.init(onEnd: onEnd)
    }

    fileprivate func isOver(at now: UInt64) -> Bool {
      guard let rejected else { return row.standing.isSettled(at: now) }
      return row.standing.isReplaced(rejected, at: now) != nil
    }
  }

  init(providers: CredentialProviders) {
    self.providers = providers
    fileChecks = TokenFileChecks(providers: providers)
    follow(providers.generation)
  }

  /// Takes the tokens of another generation; those that it has in common with the one before stand as they did.
  func follow(_ generation: Generation) {
    let keyring = generation.keyring
    let earlier = known
    rows = []
    known = [:]
    // Most have none, and are asked at each request.
    if !keyring.tokens.isEmpty {
      rows = (0..<keyring.grantCount).map { index in
        guard let source = keyring.token(ofGrant: index) else { return nil }
        let row = earlier[source]?.first ?? Row(source)
        known[source, default: []].append(row)
        return row
      }
    }
    // The token that they wait for will not be reported any more.
    let lost = waits.take { wait in wait.rejected != nil && known[wait.row.source]?.contains { $0 === wait.row } != true
    }
    if lost.isEmpty { return }
    providers.loop.onNextTurn { [weak self] in self?.end(lost) }
  }

  /// Whether a grant of the current generation has its value from here.
  package func has(grant index: Int) -> Bool { row(index) != nil }

  /// nil: its value comes from elsewhere.
  package func standing(ofGrant index: Int) -> TokenStatus? { row(index)?.standing }

  // MARK: requests

  /// Calls `onEnd` once, never from within this call: the endpoint has been asked, with whatever result, or that takes longer
  /// than it may; or, with `false`, the files that may bring the token that is missing have been looked at, and it is worth
  /// asking here again. nil: there is nothing to wait for.
  /// - Parameter hasLooked: at these files.
  package func wait(forGrant index: Int, hasLooked: Bool, onEnd: @escaping (_ isAsked: Bool) -> Void) -> SecretWait? {
    guard !isClosed, let row = row(index) else { return nil }
    let now = BootTimer.now
    if now < row.standing.outlook.usableUntil {
      if !row.isUseTold { reportUse(row) }
      return nil
    }
    if !row.standing.outlook.isRenewing, row.standing.refusal(at: now) == nil {
      tell(TokenDemand(source: row.source, kind: .token))
    }
    if row.standing.isSettled(at: now) {
      return hasLooked || !row.hasFiles ? nil : fileChecks.wait(for: row.source) { onEnd(false) }
    }
    return add(Wait(row: row) { onEnd(true) })
  }

  private func add(_ wait: Wait) -> SecretWait {
    let patience = TimedCall { [unowned self] in endOverdue() }
    wait.patience = patience
    wait.latestEnd = providers.loop.now &+ wait.row.source.timeout
    providers.deadlines.schedule(patience, at: wait.latestEnd)
    waits.append(wait)
    return wait
  }

  /// The number of the token that goes out with this grant of the current generation; 0: its value comes from elsewhere.
  package func generation(ofGrant index: Int) -> UInt64 { row(index)?.standing.outlook.generation ?? 0 }

  /// An upstream has rejected a request with the token of this generation (T41). Calls `onEnd` once, never from within this
  /// call: true, there is another one to go out with. nil: there will never be.
  package func replace(_ generation: UInt64, ofGrant index: Int, onEnd: @escaping (Bool) -> Void) -> SecretWait? {
    guard !isClosed, generation > 0, let row = row(index) else { return nil }
    let wait = Wait(row: row, rejected: generation) { [unowned row] in
      onEnd(row.standing.isReplaced(generation, at: BootTimer.now) == true)
    }
    _ = add(wait)
    providers.loop.onNextTurn { [weak self] in
      guard let self else { return }
      requestAnother(than: generation, row)
      endThoseWhoAreOver()
    }
    return wait
  }

  /// Asks for another token on behalf of a request that does not wait for it.
  package func replace(_ generation: UInt64, ofGrant index: Int) {
    guard !isClosed, generation > 0, let row = row(index) else { return }
    requestAnother(than: generation, row)
  }

  private func requestAnother(than generation: UInt64, _ row: Row) {
    let isAskedFor = row.standing.rejected == generation && row.standing.outlook.isRenewing
    if isAskedFor || row.standing.isReplaced(generation, at: BootTimer.now) != nil { return }
    tell(TokenDemand(source: row.source, kind: .another(than: generation)))
  }

  /// Why a request with this credential of the current generation cannot go out; nil: that is not for a token to say.
  package func failure(ofGrant index: Int) -> ConnectFailure? {
    guard let row = row(index) else { return nil }
    let now = BootTimer.now
    if now < row.standing.outlook.usableUntil { return nil }
    let problem = providers.generation.keyring.status(ofGrant: index).problem ?? "the token has expired"
    switch row.standing.refusal(at: now) {
    case .loginRequired: return ConnectFailure(.loginRequired, problem)
    case .unavailable(let until): return ConnectFailure(.tokenUnavailable(until &- now), problem)
    case .notStored(let until): return ConnectFailure(.tokenUnavailable(until &- now, .notStored), problem)
    case .storm(let until):
      return ConnectFailure(
        .tokenUnavailable(until &- now, .storm), row.standing.failure?.sentence ?? "bearerd asked for too many tokens")
    case nil: return ConnectFailure(.tokenUnavailable(1_000), problem)
    }
  }

  private func row(_ index: Int) -> Row? { rows.indices.contains(index) ? rows[index] : nil }

  /// An upstream that sets a new one with each answer is heard once a second.
  private static let pause: UInt64 = 1_000

  /// An upstream has set it anew, in the answer to a request with that of this generation.
  /// - Parameter lifetime: milliseconds; nil: it does not say.
  package func offer(_ value: Span<UInt8>, lifetime: UInt64?, after generation: UInt64, ofGrant index: Int) {
    let keyring = providers.generation.keyring
    let now = BootTimer.now
    guard !isClosed, generation > 0, let row = row(index), row.standing.outlook.generation == generation,
      now >= row.offeredAt &+ Self.pause, !keyring.tokenValues.holds(value, of: row.source),
      let offer = try? TokenOffer(
        value, lifetime: lifetime, mustLock: providers.generation.settings.requireLockedMemory)
    else { return }
    row.offeredAt = now
    tell(TokenDemand(source: row.source, kind: .fresher(than: generation, offer)))
  }

  private func reportUse(_ row: Row) {
    row.isUseTold = true
    tell(TokenDemand(source: row.source, kind: .use))
  }

  private func tell(_ wish: TokenDemand) {
    if let link = providers.link { link.postToFirstProviders { $0.tokens?.onWish?(wish) } } else { onWish?(wish) }
  }

  // MARK: what endpoints say

  /// The next request goes out with what `change` has brought, or not at all.
  func change(_ source: TokenSource, _ standing: TokenStatus, _ change: (TokenValues) -> Void) {
    let generation = providers.generation
    let keyring = generation.keyring
    let before = keyring.users(of: source).map { keyring.status(ofGrant: $0) }
    change(keyring.tokenValues)
    providers.prepared?.keyring.reload(token: source)
    for (index, before) in zip(keyring.reload(token: source), before)
    where keyring.status(ofGrant: index) != before {
      providers.log.credential(index, of: generation)
    }
    stands(source, standing)
  }

  /// The status of a token has changed; its value is the same.
  func stands(_ source: TokenSource, _ standing: TokenStatus) {
    for row in known[source] ?? [] {
      if row.standing.outlook.generation != standing.outlook.generation { row.isUseTold = false }
      row.standing = standing
    }
    endThoseWhoAreOver()
  }

  private func endThoseWhoAreOver() {
    let now = BootTimer.now
    end(waits.take { $0.isOver(at: now) })
  }

  private func endOverdue() {
    let now = providers.loop.now
    end(waits.take { $0.latestEnd <= now })
  }

  /// Takes over what the main thread says, with a value of its own.
  func adopt(_ output: SourceOutput<TokenSource>?, _ source: TokenSource, _ standing: TokenStatus) {
    guard let output else { return stands(source, standing) }
    change(source, standing) { $0.adopt(output) }
  }

  private func end(_ over: [Wait]) {
    for wait in over {
      if let patience = wait.patience { providers.deadlines.cancel(patience) }
      wait.end()
    }
  }

  /// Nothing comes any more.
  package func close() {
    isClosed = true
    fileChecks.close()
    end(waits.takeAll())
  }
}
