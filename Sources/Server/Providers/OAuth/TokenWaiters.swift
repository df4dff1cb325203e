internal import Credentials
internal import EventLoop
internal import Gateway
internal import Lifecycle
internal import Secrets
internal import Settings
internal import StatusModel
package import Transport

/// The tokens on one worker: their status, and the requests that wait for a token. A request is sent only with a token
/// that has not expired (T40).
package final class TokenWaiters {
  private unowned let time: any WorkerTime
  private unowned let host: any TokenWaitersHost
  /// The tokens by grant index. `nil` if the grant uses no token.
  private var rows: [Row?] = []
  private var known: [TokenSource: [Row]] = [:]
  private var waits = WaitQueue<Wait>()
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

  /// - Parameter sources: see `update(to:)`.
  init(_ sources: [TokenSource?], time: any WorkerTime, host: any TokenWaitersHost) {
    self.time = time
    self.host = host
    update(to: sources)
  }

  /// Changes to the tokens of another generation. Tokens that both generations have keep their status.
  /// - Parameter sources: the tokens by grant index. Empty if the generation has none, so that the lookup of each
  ///   request is fast.
  func update(to sources: [TokenSource?]) {
    let earlier = known
    known = [:]
    rows = sources.map { source in
      guard let source else { return nil }
      let row = earlier[source]?.first ?? Row(source)
      known[source, default: []].append(row)
      return row
    }
    // The status of their tokens will no longer be reported.
    let lost = waits.drain { wait in
      wait.rejected != nil && known[wait.row.source]?.contains { $0 === wait.row } != true
    }
    if lost.isEmpty { return }
    time.onNextTurn { [weak self] in self?.end(lost) }
  }

  package func status(ofGrant index: Int) -> TokenStatus? { row(index)?.status }

  // MARK: requests

  /// Whether a request with this grant need not call `wait`. Starts nothing.
  func needsNoWait(forGrant index: Int) -> Bool {
    guard let row = row(index) else { return true }
    return !isClosed && row.isUseReported && time.bootTime < row.status.renewal.usableUntil
  }

  /// Waits for a usable token. Calls `onEnd` once, never within this call. Returns `nil` if waiting is useless.
  /// - Parameters:
  ///   - hasCheckedFiles: whether the endpoint's secret files have been checked for this request.
  ///   - onEnd: called with `true` after a token request, and with `false` after a check of the files. Call `wait`
  ///     again.
  package func wait(forGrant index: Int, hasCheckedFiles: Bool, onEnd: @escaping (_ isAsked: Bool) -> Void)
    -> SecretWait?
  {
    guard !isClosed, let row = row(index) else { return nil }
    let now = time.bootTime
    if now < row.status.renewal.usableUntil {
      if !row.isUseReported {
        row.isUseReported = true
        host.send(TokenDemand(source: row.source, kind: .use))
      }
      return nil
    }
    if !row.status.renewal.isRenewing, row.status.blockingReason(at: now) == nil {
      host.send(TokenDemand(source: row.source, kind: .token))
    }
    if row.status.isSettled(at: now) {
      return hasCheckedFiles || !row.hasFiles ? nil : host.waitForFiles(of: row.source) { onEnd(false) }
    }
    return add(Wait(row: row) { onEnd(true) })
  }

  private func add(_ wait: Wait) -> SecretWait {
    let timeout = DeadlineCall { [unowned self] in endOverdue() }
    wait.timeout = timeout
    wait.latestEnd = time.now &+ wait.row.source.timeout
    time.schedule(timeout, at: wait.latestEnd)
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
    let wait = Wait(row: row, rejected: version) { [time, unowned row] in
      onEnd(row.status.isReplaced(version, at: time.bootTime) == true)
    }
    _ = add(wait)
    time.onNextTurn { [weak self] in
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
    if isRequested || row.status.isReplaced(version, at: time.bootTime) != nil { return }
    host.send(TokenDemand(source: row.source, kind: .replacement(of: version)))
  }

  /// Returns why a request cannot be sent with this grant's token. `nil` if it can, or if the grant uses no token.
  package func failure(ofGrant index: Int) -> ConnectFailure? {
    guard let row = row(index) else { return nil }
    let now = time.bootTime
    if now < row.status.renewal.usableUntil { return nil }
    let problem = host.problem(ofGrant: index) ?? "the token has expired"
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
    let now = time.bootTime
    guard !isClosed, version > 0, let row = row(index), row.status.renewal.tokenVersion == version,
      now >= row.offeredAt &+ Self.pause, let offer = host.offer(value, lifetime: lifetime, of: row.source)
    else { return }
    row.offeredAt = now
    host.send(TokenDemand(source: row.source, kind: .offer(after: version, offer)))
  }

  // MARK: changes from the first worker

  /// Applies `change` to a token's value, and updates the keyrings and the status.
  func change(_ source: TokenSource, _ status: TokenStatus, _ change: (TokenValues) -> Void) {
    host.changeValue(of: source, change)
    updateStatus(of: source, to: status)
  }

  func updateStatus(of source: TokenSource, to status: TokenStatus) {
    for row in known[source] ?? [] {
      if row.status.renewal.tokenVersion != status.renewal.tokenVersion { row.isUseReported = false }
      row.status = status
    }
    host.tokenStatusChanged()
    endFinishedWaits()
  }

  private func endFinishedWaits() {
    let now = time.bootTime
    end(waits.drain { $0.isFinished(at: now) })
  }

  private func endOverdue() {
    let now = time.now
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
      if let timeout = wait.timeout { time.cancel(timeout) }
      wait.end()
    }
  }

  package func close() {
    isClosed = true
    end(waits.drain())
  }
}
