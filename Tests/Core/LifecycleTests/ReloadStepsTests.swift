import Lifecycle
import Testing

/// Reloads without files, sockets and clock: each step ends when the test says so.
@Suite struct ReloadStepsTests {
  enum Failure: Error, Equatable { case stopping, stillReading, broken }

  enum Step: CaseIterable { case read, first, others, apply, confirm }

  final class Daemon: ReloadTarget {
    private(set) var steps: ReloadSteps<Daemon>!
    var file = "new"
    /// If `false`, each step waits for `end`.
    var endsAtOnce = false
    var isStopping = false
    var applyFailure: Failure?
    private(set) var used = "old"
    private(set) var number: UInt64 = 1
    /// The workers that have prepared a configuration.
    private(set) var prepared: [Step] = []
    private(set) var reads = 0
    private(set) var discards = 0
    private(set) var lateReads = 0
    private(set) var reports: [Failure] = []
    private var pending: (step: Step, end: (Failure?) -> Void)?

    init() { steps = ReloadSteps(self) }

    var step: Step? { pending?.step }

    /// Ends the step under way.
    func end(_ failure: Failure? = nil) {
      let end = pending?.end
      pending = nil
      end?(failure)
    }

    /// Ends all steps before this one.
    func endSteps(before step: Step?) {
      while let current = self.step, current != step { end() }
    }

    private func hold(_ step: Step, _ end: @escaping (Failure?) -> Void) {
      #expect(pending == nil, "one step at a time")
      if endsAtOnce { end(nil) } else { pending = (step, end) }
    }

    var stopping: Failure { .stopping }
    var stillReading: Failure { .stillReading }

    func read(_ onEnd: @escaping (Result<String, Failure>) -> Void) {
      reads += 1
      hold(.read) { [file] failure in onEnd(failure.map { .failure($0) } ?? .success(file)) }
    }

    func prepareFirst(_ plan: String, _ onEnd: @escaping (Failure?) -> Void) {
      hold(.first) { [unowned self] failure in
        prepared.append(.first)
        onEnd(failure)
      }
    }

    func prepareOthers(_ plan: String, _ onEnd: @escaping (Failure?) -> Void) {
      hold(.others) { [unowned self] failure in
        prepared.append(.others)
        onEnd(failure)
      }
    }

    func discardPrepared() {
      discards += 1
      prepared = []
    }

    func apply(_ plan: String) throws(Failure) {
      #expect(prepared == [.first, .others])
      if let applyFailure { throw applyFailure }
      prepared = []
      used = plan
      number += 1
    }

    func confirm(_ plan: String, _ onEnd: @escaping (UInt64) -> Void) {
      hold(.confirm) { [number] _ in onEnd(number) }
    }

    func report(_ failure: Failure) { reports.append(failure) }
    func reportLateRead() { lateReads += 1 }
  }

  /// The results that callers got, in order.
  final class Callers {
    private(set) var results: [String: Result<UInt64, Failure>] = [:]

    func request(_ name: String, of daemon: Daemon) {
      daemon.steps.request { [unowned self] result in
        #expect(results[name] == nil, "each caller gets one result")
        results[name] = result
      }
    }
  }

  private func reload(_ daemon: Daemon) -> Result<UInt64, Failure>? {
    let callers = Callers()
    callers.request("again", of: daemon)
    daemon.endSteps(before: nil)
    return callers.results["again"]
  }

  @Test
  func `T47: a configuration is used after all workers have prepared it, and the caller gets its number at the end`() {
    let (daemon, callers) = (Daemon(), Callers())
    callers.request("a", of: daemon)
    for step in [Step.read, .first, .others] {
      #expect(daemon.step == step && daemon.used == "old")
      daemon.end()
    }
    #expect(daemon.step == .confirm && daemon.used == "new" && callers.results.isEmpty)
    daemon.end()
    #expect(callers.results == ["a": .success(2)])
    #expect(daemon.step == nil && daemon.discards == 0 && daemon.reports.isEmpty)
  }

  @Test(arguments: [Step.read, .first, .others, .apply])
  func `T47: a failure in any step leaves the old configuration in use, and the next reload works`(failing: Step) {
    let (daemon, callers) = (Daemon(), Callers())
    callers.request("a", of: daemon)
    if failing == .apply {
      daemon.applyFailure = .broken
      daemon.endSteps(before: nil)
      daemon.applyFailure = nil
    } else {
      daemon.endSteps(before: failing)
      daemon.end(.broken)
    }
    #expect(callers.results == ["a": .failure(.broken)] && daemon.reports == [.broken])
    #expect(daemon.used == "old" && daemon.number == 1 && daemon.step == nil)
    // After the read, workers may have prepared something.
    #expect(daemon.prepared.isEmpty && daemon.discards == (failing == .read ? 0 : 1))
    #expect(reload(daemon) == .success(2) && daemon.used == "new")
  }

  /// A stop is not a failed reload, so it is not reported as one.
  @Test(arguments: [Step.read, .first, .others])
  func `a stop during any step before the last uses nothing, and no later reload begins`(step: Step) {
    let (daemon, callers) = (Daemon(), Callers())
    callers.request("a", of: daemon)
    daemon.endSteps(before: step)
    daemon.isStopping = true
    daemon.endSteps(before: nil)
    #expect(callers.results == ["a": .failure(.stopping)] && daemon.reports.isEmpty)
    #expect(daemon.used == "old" && daemon.prepared.isEmpty)
    callers.request("b", of: daemon)
    #expect(callers.results["b"] == .failure(.stopping) && daemon.reads == 1)
  }

  @Test func `a stop while workers install the configuration does not undo it`() {
    let (daemon, callers) = (Daemon(), Callers())
    callers.request("a", of: daemon)
    daemon.endSteps(before: .confirm)
    daemon.isStopping = true
    daemon.end()
    #expect(callers.results == ["a": .success(2)] && daemon.used == "new")
  }

  @Test(arguments: Step.allCases.filter { $0 != .apply })
  func `T55: callers that ask during a step share the next reload, which reads the file again`(step: Step) {
    let (daemon, callers) = (Daemon(), Callers())
    callers.request("a", of: daemon)
    daemon.endSteps(before: step)
    callers.request("b", of: daemon)
    callers.request("c", of: daemon)
    daemon.file = "newer"
    daemon.endSteps(before: .confirm)
    #expect(daemon.reads == 1 && daemon.used == "new")
    daemon.end()
    #expect(callers.results == ["a": .success(2)] && daemon.step == .read)
    daemon.endSteps(before: nil)
    #expect(callers.results == ["a": .success(2), "b": .success(3), "c": .success(3)])
    #expect(daemon.reads == 2 && daemon.used == "newer")
  }

  @Test func `T47: a failed reload does not fail the next reload of waiting callers`() {
    let (daemon, callers) = (Daemon(), Callers())
    callers.request("a", of: daemon)
    callers.request("b", of: daemon)
    daemon.end(.broken)
    daemon.endSteps(before: nil)
    #expect(callers.results == ["a": .failure(.broken), "b": .success(2)] && daemon.reports == [.broken])
  }

  @Test func `T55: after giving up a hanging file, all callers get an error, and a late read is not used`() {
    let (daemon, callers) = (Daemon(), Callers())
    callers.request("a", of: daemon)
    callers.request("b", of: daemon)
    daemon.steps.giveUp()
    #expect(callers.results == ["a": .failure(.stillReading), "b": .failure(.stillReading)])
    #expect(daemon.reports == [.stillReading])
    // The thread still hangs, and another thread would hang, too.
    callers.request("c", of: daemon)
    #expect(callers.results["c"] == .failure(.stillReading) && daemon.reads == 1)
    daemon.end()
    #expect(daemon.step == nil && daemon.used == "old" && daemon.lateReads == 1)
    #expect(reload(daemon) == .success(2) && daemon.lateReads == 1)
  }

  @Test(arguments: [Step.first, .others, .confirm])
  func `a configuration that was read in time is not given up`(step: Step) {
    let (daemon, callers) = (Daemon(), Callers())
    callers.request("a", of: daemon)
    daemon.endSteps(before: step)
    daemon.steps.giveUp()
    #expect(callers.results.isEmpty && daemon.reports.isEmpty)
    daemon.endSteps(before: nil)
    #expect(callers.results == ["a": .success(2)] && daemon.lateReads == 0)
  }

  @Test func `a completion may request the next reload, also if every step ends at once`() {
    let daemon = Daemon()
    daemon.endsAtOnce = true
    var numbers: [UInt64] = []
    daemon.steps.request { first in
      daemon.steps.request { second in numbers = [first, second].compactMap { try? $0.get() } }
    }
    #expect(numbers == [2, 3] && daemon.reads == 2)
  }
}
