internal import Configuration
internal import Credentials
internal import EventLoop
internal import Gateway
internal import Lifecycle
internal import Secrets
internal import Settings
internal import Generations
internal import StatusModel
internal import System
package import Transport

/// The tokens on one worker: their status, and the requests that wait for a token. A request is sent only with a token
/// that has not expired (T40).
package final class TokenWaiters {
  private unowned let providers: CredentialProviders
  /// The tokens by grant index. `nil` if the grant uses no token.
  private var rows: [Row?] = []
  private var known: [TokenSource: [Row]] = [:]
  private var waits = WaitQueue<Wait>()
  let fileChecks: TokenFileChecks
  private var isClosed = false
  /// Handles the demands of all workers. `nil` except on the first worker.
  var onDemand: ((TokenDemand) -> Void)?

  private final class Row {
    let source: TokenSource
    var status = TokenStatus()
    /// When a token set by an upstream was last sent to the first worker, in milliseconds of `BootTimer`.
    var offeredAt: UInt64 = 0
    /// Whether the use of the token has been reported since it was granted.
    var isUseReported = false

    let hasFiles: Bool

    init(_ source: TokenSource) {
      self.source = source
      hasFiles = !source.files.isEmpty
    }
  }

  private final class Wait: SecretWait {
    fileprivate let row: Row
    /// The version of the token that an upstream has rejected. `nil` if any token is sufficient.
    fileprivate let rejected: UInt64?
    /// Ends the wait at `latestEnd`, in milliseconds of the loop's clock.
    fileprivate var timeout: DeadlineCall?
    fileprivate var latestEnd: UInt64 = 0

    fileprivate init(row: Row, rejected: UInt64? = nil, onEnd: @escaping () -> Void) {
      self.row = row
      self.rejected = rejected
      super.init(onEnd: onEnd)
    }

    fileprivate func isFinished(at now: UInt64) -> Bool {
      guard let rejected else { return row.status.isSettled(at: now) }
      return row.status.isReplaced(rejected, at: now) != nil
    }
  }

  init(providers: CredentialProviders) {
    self.providers = providers
    fileChecks = TokenFileChecks(providers: providers)
    update(to: providers.generation)
  }

  /// Changes to the tokens of another generation. Tokens that both generations have keep their status.
  func update(to generation: Generation) {
    let keyring = generation.keyring
    let earlier = known
    rows = []
    known = [:]
    // Most configurations have no tokens. An empty `rows` makes the lookup of each request fast.
    if !keyring.tokens.isEmpty {
      rows = (0..<keyring.grantCount).map { index in
        guard let source = keyring.token(ofGrant: index) else { return nil }
        let row = earlier[source]?.first ?? Row(source)
        known[source, default: []].append(row)
        return row
      }
    }
    // The status of their tokens will no longer be reported.
    let lost = waits.drain { wait in
      wait.rejected != nil && known[wait.row.source]?.contains { $0 === wait.row } != true
    }
    if lost.isEmpty { return }
    providers.loop.onNextTurn { [weak self] in self?.end(lost) }
  }

  package func has(grant index: Int) -> Bool { row(index) != nil }

  package func status(ofGrant index: Int) -> TokenStatus? { row(index)?.status }

  // MARK: requests

  /// Waits for a usable token. Calls `onEnd` once, never within this call. Returns `nil` if waiting is useless.
  /// - Parameters:
  ///   - hasCheckedFiles: whether the endpoint's secret files have been checked for this request.
  ///   - onEnd: called with `true` after a token request, and with `false` after a check of the files. Call `wait`
  ///     again.
  package func wait(forGrant index: Int, hasCheckedFiles: Bool, onEnd: @escaping (_ isAsked: Bool) -> Void)
    -> SecretWait?
  {
    guard !isClosed, let row = row(index) else { return nil }
    let now = BootTimer.now
    if now < row.status.renewal.usableUntil {
      if !row.isUseReported {
        row.isUseReported = true
        send(TokenDemand(source: row.source, kind: .use))
      }
      return nil
    }
    if !row.status.renewal.isRenewing, row.status.blockingReason(at: now) == nil {
      send(TokenDemand(source: row.source, kind: .token))
    }
    if row.status.isSettled(at: now) {
      return hasCheckedFiles || !row.hasFiles ? nil : fileChecks.wait(for: row.source) { onEnd(false) }
    }
    return add(Wait(row: row) { onEnd(true) })
  }

  private func add(_ wait: Wait) -> SecretWait {
    let timeout = DeadlineCall { [unowned self] in endOverdue() }
    wait.timeout = timeout
    wait.latestEnd = providers.loop.now &+ wait.row.source.timeout
    providers.deadlines.schedule(timeout, at: wait.latestEnd)
    waits.append(wait)
    return wait
  }

  /// Returns the version of the grant's token. 0 if there is none.
  package func tokenVersion(ofGrant index: Int) -> UInt64 { row(index)?.status.renewal.tokenVersion ?? 0 }

  /// Replaces the token of this version after an upstream has rejected it (T41). Calls `onEnd` once, never within this
  /// call, with `true` if there is a new token. Returns `nil`, and never calls `onEnd`, if the grant uses no token,
  /// `version` is 0, or this object is closed.
  package func replace(_ version: UInt64, ofGrant index: Int, onEnd: @escaping (Bool) -> Void) -> SecretWait? {
    guard !isClosed, version > 0, let row = row(index) else { return nil }
    let wait = Wait(row: row, rejected: version) { [unowned row] in
      onEnd(row.status.isReplaced(version, at: BootTimer.now) == true)
    }
    _ = add(wait)
    providers.loop.onNextTurn { [weak self] in
      guard let self else { return }
      requestReplacement(of: version, row)
      endFinishedWaits()
    }
    return wait
  }

  /// Replaces the token of this version for a request that does not wait for the result.
  package func replace(_ version: UInt64, ofGrant index: Int) {
    guard !isClosed, version > 0, let row = row(index) else { return }
    requestReplacement(of: version, row)
  }

  private func requestReplacement(of version: UInt64, _ row: Row) {
    let isRequested = row.status.rejectedVersion == version && row.status.renewal.isRenewing
    if isRequested || row.status.isReplaced(version, at: BootTimer.now) != nil { return }
    send(TokenDemand(source: row.source, kind: .replacement(of: version)))
  }

  /// Returns why a request cannot be sent with this grant's token. `nil` if it can, or if the grant uses no token.
  package func failure(ofGrant index: Int) -> ConnectFailure? {
    guard let row = row(index) else { return nil }
    let now = BootTimer.now
    if now < row.status.renewal.usableUntil { return nil }
    let problem = providers.generation.keyring.status(ofGrant: index).problem ?? "the token has expired"
    switch row.status.blockingReason(at: now) {
    case .loginRequired: return ConnectFailure(.loginRequired, problem)
    case .unavailable(let until): return ConnectFailure(.tokenUnavailable(until &- now), problem)
    case .notStored(let until): return ConnectFailure(.tokenUnavailable(until &- now, .notStored), problem)
    case .tooManyRenewals(let until):
      return ConnectFailure(
        .tokenUnavailable(until &- now, .storm), row.status.history.lastFailure ?? "bearerd asked for too many tokens")
    case nil: return ConnectFailure(.tokenUnavailable(1_000), problem)
    }
  }

  private func row(_ index: Int) -> Row? { rows.indices.contains(index) ? rows[index] : nil }

  /// Minimum milliseconds between two tokens that are accepted from an upstream's cookies.
  private static let pause: UInt64 = 1_000

  /// Tells the first worker about a new token that an upstream has set as a cookie.
  /// - Parameters:
  ///   - lifetime: milliseconds. `nil` if unknown.
  ///   - version: the version of the token in the request.
  package func offer(_ value: Span<UInt8>, lifetime: UInt64?, after version: UInt64, ofGrant index: Int) {
    let keyring = providers.generation.keyring
    let now = BootTimer.now
    guard !isClosed, version > 0, let row = row(index), row.status.renewal.tokenVersion == version,
      now >= row.offeredAt &+ Self.pause, !keyring.tokenValues.isCurrent(value, of: row.source),
      let offer = try? TokenOffer(
        value, lifetime: lifetime, mustLock: providers.generation.settings.requireLockedMemory)
    else { return }
    row.offeredAt = now
    send(TokenDemand(source: row.source, kind: .offer(after: version, offer)))
  }

  private func send(_ demand: TokenDemand) {
    if let link = providers.link {
      link.postToFirstProviders { $0.tokens?.onDemand?(demand) }
    } else {
      onDemand?(demand)
    }
  }

  // MARK: changes from the first worker

  /// Applies `change` to a token's value, and updates the keyrings and the status.
  func change(_ source: TokenSource, _ status: TokenStatus, _ change: (TokenValues) -> Void) {
    let generation = providers.generation
    let keyring = generation.keyring
    let before = keyring.users(of: source).map { keyring.status(ofGrant: $0) }
    change(keyring.tokenValues)
    providers.prepared?.keyring.reload(token: source)
    for (index, before) in zip(keyring.reload(token: source), before)
    where keyring.status(ofGrant: index) != before {
      providers.log.credential(index, of: generation)
    }
    updateStatus(of: source, to: status)
  }

  func updateStatus(of source: TokenSource, to status: TokenStatus) {
    for row in known[source] ?? [] {
      if row.status.renewal.tokenVersion != status.renewal.tokenVersion { row.isUseReported = false }
      row.status = status
    }
    // Before a waiting request is sent with the new token.
    providers.checkAccounts()
    endFinishedWaits()
  }

  private func endFinishedWaits() {
    let now = BootTimer.now
    end(waits.drain { $0.isFinished(at: now) })
  }

  private func endOverdue() {
    let now = providers.loop.now
    end(waits.drain { $0.latestEnd <= now })
  }

  /// Uses a status that the first worker has sent, with the token's new value.
  /// - Parameter output: `nil` if the value is unchanged.
  func adopt(_ output: SourceState<TokenSource>?, _ source: TokenSource, _ status: TokenStatus) {
    guard let output else { return updateStatus(of: source, to: status) }
    change(source, status) { $0.adopt(output) }
  }

  private func end(_ finished: [Wait]) {
    for wait in finished {
      if let timeout = wait.timeout { providers.deadlines.cancel(timeout) }
      wait.end()
    }
  }

  package func close() {
    isClosed = true
    fileChecks.close()
    end(waits.drain())
  }
}
