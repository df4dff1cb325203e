import Foundation
import TestSupport

/// Programs that ask and ask, each over one connection, until they are told to stop.
package final class SteadyLoad: Sendable {
  private let isOver = Guarded(false)
  private let problems = Guarded<[String]>([])
  private let ended = DispatchSemaphore(value: 0)
  private let callers: Int
  /// Requests that were answered as they should be.
  package let answered = Counter()

  /// `ask` sends the caller's next request and says what was wrong with its answer, if anything was.
  package init(callers: Int, port: UInt16, ask: @escaping @Sendable (RawClient, _ number: Int) throws -> String?) {
    self.callers = callers
    for caller in 0..<callers {
      // Threads of their own: they must come along while all of the test runner's wait.
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
        answered.add()
        number += callers
      }
    } catch {
      problems.withLock { $0.append("\(number): \(error)") }
    }
  }

  /// Waits until so many more requests have been answered. Throws as soon as one has failed.
  package func goOn(by count: Int) throws {
    let before = answered.count
    let wentOn = eventually(seconds: 30) { answered.count >= before + count || !problems.withLock { $0.isEmpty } }
    let found = problems.withLock { $0 }
    guard wentOn, found.isEmpty else { throw TestFailure("the load does not go on: \(found)") }
  }

  /// All problems. Nobody asks any more.
  package func stop() -> [String] {
    isOver.withLock { $0 = true }
    for _ in 0..<callers { ended.wait() }
    for _ in 0..<callers { ended.signal() }
    return problems.withLock { $0 }
  }
}
