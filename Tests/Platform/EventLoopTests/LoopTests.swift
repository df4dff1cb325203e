import Dispatch
@testable import EventLoop
import Glibc
import Testing

@Suite struct LoopTests {
  @Test func `the loop runs until it has nothing left to wait for`() throws {
    let loop = try Loop()
    var fired = 0
    let timer = Timer(loop: loop) { fired += 1 }
    timer.start(after: 1)
    loop.run()
    #expect(fired == 1)
    timer.close()
    loop.run()
  }

  @Test func `T60: other events run between the pieces of long work`() throws {
    let loop = try Loop()
    var order: [String] = []
    loop.runIncrementally { hasTime in
      order.append("long")
      while hasTime() {}
      if order.count < 6 { loop.onNextTurn { order.append("other") } }
      return order.count >= 6
    }
    loop.runIncrementally([1, 2, 3]) {
      order.append("\($0)")
    } then: {
      order.append("all")
    }
    #expect(order == [], "not within the call")
    loop.run()
    #expect(order.first == "long" && order[1] != "long", "each has a turn before one has two: \(order)")
    #expect(order.filter { $0 == "long" }.count > 1)
    #expect(order.filter { ["1", "2", "3", "all"].contains($0) } == ["1", "2", "3", "all"])
    let first = try #require(order.firstIndex(of: "other"))
    #expect(order[first...].contains("long"), "other events run in between")
    var isDone = false
    loop.runIncrementally([Int]()) { _ in
    } then: {
      isDone = true
    }
    #expect(isDone)
    order = []
    loop.runIncrementally([1, 2]) {
      order.append("\($0)")
    } then: {
      loop.runIncrementally([3]) {
        order.append("\($0)")
      } then: {
      }
    }
    loop.run()
    #expect(order == ["1", "2", "3"], "a completed job may start another job")
  }

  @Test func `stop ends the run, and the next run continues with the open handles`() throws {
    let loop = try Loop()
    var fired = 0
    let timer = Timer(loop: loop) {
      fired += 1
      if fired == 3 { loop.stop() }
    }
    timer.start(after: 0, repeatEvery: 1)
    loop.run()
    #expect(fired == 3)
    fired = 0
    loop.run()
    #expect(fired == 3)
    timer.stop()
    loop.run()
    timer.start(after: 5)
    timer.close()
    timer.close()
    timer.start(after: 0)
    loop.run()
    #expect(fired == 3)
  }

  @Test func `a restarted timer fires after its new delay`() throws {
    let loop = try Loop()
    var order: [String] = []
    let began = loop.now
    let moved = Timer(loop: loop) { order.append("moved") }
    let other = Timer(loop: loop) { order.append("other") }
    moved.start(after: 1)
    other.start(after: 3)
    moved.start(after: 6)
    loop.run()
    #expect(order == ["other", "moved"])
    #expect(loop.now >= began + 6)
    moved.close()
    other.close()
  }

  @Test func `the end of a turn is reported once per turn, after the turn's events`() throws {
    let loop = try Loop()
    var order: [String] = []
    let timer = Timer(loop: loop) { order.append("event") }
    timer.start(after: 0)
    loop.onTurnEnd = { order.append("end") }
    loop.runOnce(waiting: false)
    #expect(order == ["event", "end"])
    loop.onNextTurn { order.append("deferred") }
    loop.runOnce(waiting: false)
    #expect(order == ["event", "end", "deferred", "end"])
    loop.onTurnEnd = nil
    loop.onNextTurn {}
    loop.runOnce(waiting: false)
    #expect(order.count == 4)
    timer.close()
  }

  @Test func `onTurnEnd does not keep the loop running`() throws {
    let loop = try Loop()
    loop.onTurnEnd = {}
    loop.run()
  }

  @Test func `deferred calls run once and in order, and calls that they defer run in a later turn`() throws {
    let loop = try Loop()
    var order: [Int] = []
    loop.onNextTurn {
      order.append(1)
      loop.onNextTurn { order.append(3) }
    }
    loop.onNextTurn { order.append(2) }
    #expect(order.isEmpty)
    loop.runOnce(waiting: true)
    #expect(order == [1, 2])
    loop.run()
    #expect(order == [1, 2, 3])
  }

  @Test func `a handle that was not closed is detected when the loop is released`() async {
    await #expect(processExitsWith: .failure) {
      _ = Timer(loop: try Loop()) {}
    }
    await #expect(processExitsWith: .success) {
      let loop = try Loop()
      Timer(loop: loop) {}.close()
    }
  }

  @Test func `a handle keeps its owner alive until the handle is closed`() throws {
    let loop = try Loop()
    weak var timer: Timer?
    do {
      let owned = Timer(loop: loop) {}
      timer = owned
      loop.settle()
    }
    #expect(timer != nil)  // the open handle keeps the timer alive
    timer?.close()
    loop.run()
    #expect(timer == nil)
  }

  @Test func `a signal is delivered as an event`() async {
    await #expect(processExitsWith: .success) {
      let loop = try Loop()
      var count = 0
      let source = try SignalSource(loop: loop, signal: SIGHUP) { count += 1 }
      kill(getpid(), SIGHUP)
      loop.run { count == 1 }
      source.close()
      source.close()
      loop.run()
      #expect(throws: UVError.self) { try SignalSource(loop: loop, signal: SIGKILL) {} }
      #expect(throws: UVError.self) { try SignalSource(loop: loop, signal: 0) {} }
    }
  }

  @Test func `a loop survives SIGPIPE`() async {
    await #expect(processExitsWith: .success) {
      let loop = try Loop()
      var ends: [CInt] = [0, 0]
      socketpair(AF_UNIX, streamType, 0, &ends)
      Glibc.close(ends[1])
      let recorder = Recorder()
      let stream = try Stream(loop: loop, adopting: ends[0], isUnix: true)
      stream.delegate = recorder
      stream.write([1].span)
      loop.run { recorder.error?.status == -EPIPE }
      stream.close()
    }
  }

  @Test func `a descriptor is watched until its source is closed`() throws {
    let loop = try Loop()
    var ends: [CInt] = [0, 0]
    #expect(pipe(&ends) == 0)
    var count = 0
    let source = try ReadableSource(loop: loop, descriptor: ends[0]) {
      var byte: UInt8 = 0
      #expect(read(ends[0], &byte, 1) == 1)
      count += 1
    }
    loop.settle()
    #expect(count == 0)
    #expect(write(ends[1], "ab", 2) == 2)
    loop.run { count == 2 }
    source.close()
    source.close()
    #expect(write(ends[1], "c", 1) == 1)
    loop.settle()
    #expect(count == 2)
    ends.forEach { Glibc.close($0) }
    #expect(throws: UVError.self) { try ReadableSource(loop: loop, descriptor: -1) {} }
  }

  @Test func `another thread can wake the loop, also after the wakeup is closed`() throws {
    let loop = try Loop()
    var count = 0
    let wakeup = try Wakeup(loop: loop) { count += 1 }
    let isDone = DispatchSemaphore(value: 0)
    DispatchQueue.global().async {
      for _ in 0..<1000 { wakeup.wake() }
      isDone.signal()
    }
    loop.run { count > 0 }
    wakeup.close()
    wakeup.close()
    loop.run()
    let last = count
    isDone.wait()
    wakeup.wake()
    #expect(count == last)
  }

  @Test(arguments: [
    ([127, 0, 0, 1], 7070, "127.0.0.1:7070"),
    ([UInt8](repeating: 0, count: 15) + [1], 7070, "[::1]:7070"),
    ([0x20, 1, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [9], 0, "[2001:db8::9]:0"),
    ([1, 2, 3], 4, "?:4"),
  ])
  func `addresses are printed as in URLs`(_ ip: [UInt8], _ port: UInt16, _ text: String) {
    #expect(SocketAddress(ip: ip, port: port).description == text)
  }

  @Test func `an unknown error status has a description`() {
    #expect(UVError(operation: "x", status: -99999).description.hasPrefix("x: "))
  }
}
