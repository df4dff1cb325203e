import Foundation
import TestSupport

/// Clients that send requests, each on one connection, until `stop()`.
package final class SteadyLoad: Sendable {
  private let isOver = Guarded(false)
  private let problems = Guarded<[String]>([])
  private let ended = DispatchSemaphore(value: 0)
  private let callers: Int
  /// Number of requests with the right response.
  package let responseCount = Counter()

  /// - Parameter ask: Sends the client's next request and returns the problem of its response, or `nil`.
  package init(callers: Int, port: UInt16, ask: @escaping @Sendable (RawClient, _ number: Int) throws -> String?) {
    self.callers = callers
    for caller in 0..<callers {
      // Separate threads, because all threads of the test runner may be blocked.
      Thread.detachNewThread { [self] in
        run(port: port, first: caller, ask)
        ended.signal()
      }
    }
  }

  private func run(port: UInt16, first: Int, _ ask: (RawClient, Int) throws -> String?) {
    var number = first
    do {
      let client = try RawClient(port: port)
      while !isOver.withLock({ $0 }) {
        if let problem = try ask(client, number) { return problems.withLock { $0.append("\(number): \(problem)") } }
        responseCount.add()
        number += callers
      }
    } catch {
      problems.withLock { $0.append("\(number): \(error)") }
    }
  }

  /// Waits for `count` more responses. Throws after the first problem.
  package func waitForResponses(_ count: Int) throws {
    let before = responseCount.count
    let wentOn = eventually(seconds: 30) { responseCount.count >= before + count || !problems.withLock { $0.isEmpty } }
    let found = problems.withLock { $0 }
    guard wentOn, found.isEmpty else { throw TestFailure("the load does not go on: \(found)") }
  }

  /// Stops all clients and returns all problems.
  package func stop() -> [String] {
    isOver.withLock { $0 = true }
    for _ in 0..<callers { ended.wait() }
    for _ in 0..<callers { ended.signal() }
    return problems.withLock { $0 }
  }
}
