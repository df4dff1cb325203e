internal import Admin
internal import EventLoop
internal import Log
internal import Primitives
internal import Proxy
internal import StatusModel
internal import System

/// Logs 30 days, 7 days and 1 day before something expires, and when it has expired. Checks every hour.
final class ExpiryWatch {
  private let worker: Worker
  private let workerGroup: WorkerGroup
  private let log: EventLog
  private var timer: Timer?
  /// The notice period, in days, of the last line about each expiry.
  private var logged: [DaemonStatus.Expiry: Int] = [:]

  private static let interval: UInt64 = 3_600_000

  init(loop: Loop, worker: Worker, workerGroup: WorkerGroup, log: EventLog) {
    self.worker = worker
    self.workerGroup = workerGroup
    self.log = log
    timer = Timer(loop: loop) { [unowned self] in check() }
  }

  /// Checks now, and then every hour.
  func check() {
    timer?.start(after: Self.interval)
    workerGroup.count { [unowned self] counts in
      guard timer != nil else { return }
      let now = Clock.now.seconds
      report(Expiries.all(of: worker, counts, now: now), now: Int(now))
    }
  }

  private func report(_ expiries: [DaemonStatus.Expiry], now: Int) {
    let due = Dictionary(expiries.compactMap { expiry in expiry.notice(at: now).map { (expiry, $0) } }) { first, _ in
      first
    }
    for expiry in expiries where due[expiry] != nil && due[expiry] != logged[expiry] {
      let left = expiry.at - now
      log.event(
        .expiresSoon, ("what", expiry.what.rawValue), ("name", expiry.name),
        ("at", CivilTime.day(of: Int64(expiry.at))),
        ("days", String(max(0, left / DaemonStatus.Expiry.day))), ("detail", left > 0 ? "expires soon" : "expired"))
    }
    logged = due
  }

  func close() {
    timer?.close()
    timer = nil
  }
}
