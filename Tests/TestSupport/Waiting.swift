import Foundation

/// Factor for all time limits. Higher than 1 under a sanitizer, which slows programs down.
package let patience = Double(ProcessInfo.processInfo.environment["BEARERD_TEST_PATIENCE"] ?? "") ?? 1

/// Polls until the condition is `true`. Returns `false` after `seconds`, multiplied by `patience`.
package func eventually(seconds: Double = 20, _ condition: () throws -> Bool) rethrows -> Bool {
  let end = ContinuousClock.now + .seconds(seconds * patience)
  while true {
    if try condition() { return true }
    if ContinuousClock.now > end { return false }
    usleep(2_000)
  }
}

/// Returns the duration of `body` in seconds.
package func seconds(_ body: () throws -> Void) rethrows -> Double {
  let time = try ContinuousClock().measure(body)
  return Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
}

/// A semaphore with a time limit, which is multiplied by `patience`.
package final class Gate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  package init() {}

  package func open(times: Int = 1) { for _ in 0..<times { semaphore.signal() } }

  @discardableResult
  package func pass(seconds: Double = 20) -> Bool { semaphore.wait(timeout: .now() + seconds * patience) == .success }
}
