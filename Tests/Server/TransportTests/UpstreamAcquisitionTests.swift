import EventLoop
import Gateway
import Policy
import ServerSupport
import TestSupport
import Testing

@testable import Transport

@Suite struct UpstreamAcquisitionTests {
  /// Records the calls of an acquisition.
  private final class Acquirer: UpstreamAcquirer {
    var opening: (any UpstreamOpening)?
    var outcomes: [UpstreamOutcome] = []

    func connectionIsBeingOpened(by opening: any UpstreamOpening) { self.opening = opening }
    func acquired(_ outcome: UpstreamOutcome) { outcomes.append(outcome) }

    var failure: RefusalCode? { if case .failed(let failure)? = outcomes.first { failure.refusal.code } else { nil } }
    func connection(isReused: Bool) -> UpstreamConnection? {
      if case .connection(let connection, isReused)? = outcomes.first { connection } else { nil }
    }
  }

  private let stage: LoopStage
  private let acquirer = Acquirer()

  init() throws { stage = try LoopStage() }

  private func begin(_ pool: UpstreamPool, _ choice: UpstreamPool.Choice?) {
    pool.acquire(
      choice, for: acquirer, timeouts: Timeouts(), tally: ServiceTally(name: "api"), context: stage.context)
  }

  @Test func `a failure to connect is the outcome, once`() throws {
    defer { stage.close() }
    // The kernel refuses a TCP connection to this address without sending anything.
    let pool = try stage.pool("https://255.255.255.255:1/")
    begin(pool, .any)
    #expect(stage.run { !acquirer.outcomes.isEmpty })
    for _ in 0..<3 { stage.loop.runOnce(waiting: true) }
    #expect(acquirer.failure == .connectionFailed && acquirer.outcomes.count == 1 && pool.connectionCount == 0)
  }

  @Test func `an idle connection is the outcome at once, unless the request needs a new one`() throws {
    defer { stage.close() }
    let listener = try PlainListener()
    let pool = try stage.pool("http://127.0.0.1:\(listener.port)/")
    let idle = try stage.connection(pool)
    idle.keep()
    begin(pool, .any)
    #expect(acquirer.connection(isReused: true) === idle && acquirer.opening == nil && pool.idle.isEmpty)
    idle.keep()
    acquirer.outcomes = []
    begin(pool, nil)
    #expect(acquirer.opening != nil && acquirer.outcomes.isEmpty)
    #expect(stage.run { !acquirer.outcomes.isEmpty })
    let made = try #require(acquirer.connection(isReused: false))
    #expect(made !== idle && pool.idle.count == 1 && acquirer.outcomes.count == 1)
    made.close()
    idle.close()
  }

  @Test func `a cancelled acquisition has no outcome`() throws {
    defer { stage.close() }
    let listener = try PlainListener()
    let pool = try stage.pool("http://127.0.0.1:\(listener.port)/")
    begin(pool, .any)
    try #require(acquirer.opening).cancel()
    for _ in 0..<5 { stage.loop.runOnce(waiting: true) }
    #expect(acquirer.outcomes.isEmpty && pool.connectionCount == 0)
  }
}
