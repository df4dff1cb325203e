import EventLoop
import TestSupport
import Testing

@testable import Transport

@Suite struct WorkerContextTests {
  @Test func `a step of the calendar clock is detected by comparison with the uptime`() {
    var steps = ClockSteps()
    #expect(steps.step(calendar: 1_000_000, uptime: 500) == nil, "there is nothing to compare with yet")
    #expect(steps.step(calendar: 1_060_000, uptime: 60_500) == nil, "a minute has passed")
    #expect(steps.step(calendar: 1_060_999, uptime: 60_500) == nil, "that is less than anybody sets it by")
    #expect(steps.step(calendar: 1_061_999, uptime: 60_500) == 1_000)
    #expect(steps.step(calendar: 1_061_999, uptime: 60_500) == nil, "told once")
    #expect(steps.step(calendar: 1_031_999, uptime: 60_500) == -30_000)
  }

  @Test func `each worker gets an equal share of a limit, rounded up`() {
    for (all, workers, each) in [(0, 3, 0), (1, 3, 1), (3, 3, 1), (4, 3, 2), (256, 1, 256)] {
      #expect(WorkerContext.share(of: all, among: workers) == each)
    }
  }

  @Test func `memory is released once after each spike`() throws {
    let loop = try Loop()
    var given = 0
    let relief = HeapTrimmer(loop: loop, minimumPeak: 8)
    relief.releaseMemory = { given += 1 }
    let (flood, small) = (relief.makeSpikeDetector(), relief.makeSpikeDetector())
    let alarm = Timer(loop: loop) {}
    alarm.start(after: 5, repeatEvery: 5)
    for _ in 0..<7 { small.increment() }
    for _ in 0..<7 { small.decrement() }
    for _ in 0..<8 { flood.increment() }
    for _ in 0..<6 { flood.decrement() }
    #expect(given == 0, "they may come back at once")
    #expect(
      eventually {
        loop.runOnce(waiting: true); return given == 1
      })
    for _ in 0..<8 { flood.increment() }
    for _ in 0..<10 { flood.decrement() }
    #expect(
      eventually {
        loop.runOnce(waiting: true); return given == 2
      })
    relief.close()
    alarm.close()
    for _ in 0..<3 { loop.runOnce(waiting: false) }
    #expect(flood.count == 0 && given == 2)
  }

  @Test func `a blocking task runs outside the loop and reports on a later turn`() throws {
    let loop = try Loop()
    let blocking = BlockingTasks(loop: loop)
    let gate = Gate()
    var found: [Int?] = []
    blocking.run {
      gate.pass() ? 7 : 0
    } onEnd: {
      found.append($0)
    }
    loop.runOnce(waiting: false)
    #expect(found.isEmpty)
    gate.open()
    #expect(
      eventually {
        loop.runOnce(waiting: false); return found == [7]
      })
    // A closed runner does not report results.
    blocking.run {
      gate.pass() ? 8 : 0
    } onEnd: {
      found.append($0)
    }
    blocking.close()
    gate.open()
    for _ in 0..<5 { loop.runOnce(waiting: false) }
    #expect(found == [7])
  }
}
