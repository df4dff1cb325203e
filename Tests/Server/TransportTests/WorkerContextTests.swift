import EventLoop
import TestSupport
import Testing

@testable import Transport

@Suite struct WorkerContextTests {
  @Test func `the calendar's clock was set where it stands elsewhere beside the one that nobody sets`() {
    var steps = ClockSteps()
    #expect(steps.step(calendar: 1_000_000, uptime: 500) == nil, "there is nothing to compare with yet")
    #expect(steps.step(calendar: 1_060_000, uptime: 60_500) == nil, "a minute has passed")
    #expect(steps.step(calendar: 1_060_999, uptime: 60_500) == nil, "that is less than anybody sets it by")
    #expect(steps.step(calendar: 1_061_999, uptime: 60_500) == 1_000)
    #expect(steps.step(calendar: 1_061_999, uptime: 60_500) == nil, "told once")
    #expect(steps.step(calendar: 1_031_999, uptime: 60_500) == -30_000)
  }

  @Test func `of what there is so much in all, each worker has its share, and all of them no less`() {
    for (all, workers, each) in [(0, 3, 0), (1, 3, 1), (3, 3, 1), (4, 3, 2), (256, 1, 256)] {
      #expect(WorkerContext.share(of: all, among: workers) == each)
    }
  }

  @Test func `memory is given back once a flood is over for a while, and once for each flood`() throws {
    let loop = try Loop()
    var given = 0
    let relief = HeapRelief(loop: loop, leastPeak: 8)
    relief.giveBack = { given += 1 }
    let (flood, small) = (relief.flood(), relief.flood())
    let alarm = Timer(loop: loop) {}
    alarm.start(after: 5, repeatEvery: 5)
    for _ in 0..<7 { small.rise() }
    for _ in 0..<7 { small.fall() }
    for _ in 0..<8 { flood.rise() }
    for _ in 0..<6 { flood.fall() }
    #expect(given == 0, "they may come back at once")
    #expect(
      eventually {
        loop.runOnce(waiting: true); return given == 1
      })
    // Another one.
    for _ in 0..<8 { flood.rise() }
    for _ in 0..<10 { flood.fall() }
    #expect(
      eventually {
        loop.runOnce(waiting: true); return given == 2
      })
    relief.close()
    alarm.close()
    for _ in 0..<3 { loop.runOnce(waiting: false) }
    #expect(flood.count == 0 && given == 2)
  }

  @Test func `what takes its time is done beside the loop, and told of on a later turn`() throws {
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
    // Of what is closed nothing is heard.
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
