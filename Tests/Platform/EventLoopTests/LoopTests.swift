import Dispatch
import EventLoop
import Glibc
import Testing

@Suite struct LoopTests {
  @Test func `runs until nothing is left to wait for`() throws {
    let loop = try Loop()
    var fired = 0
    let timer = Timer(loop: loop) { fired += 1 }
    timer.start(after: 1)
    loop.run()
    #expect(fired == 1)
    timer.close()
    loop.run()
  }

  @Test func `T60: between two pieces of long work everybody else has a turn`() throws {
    let loop = try Loop()
    var order: [String] = []
    loop.inPieces { hasTime in
      order.append("long")
      // As long as it may.
      while hasTime() {}
      if order.count < 6 { loop.onNextTurn { order.append("other") } }
      return order.count >= 6
    }
    loop.inPieces([1, 2, 3]) {
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
    #expect(order[first...].contains("long"), "others come in between")
    var isDone = false
    loop.inPieces([Int]()) { _ in
    } then: {
      isDone = true
    }
    #expect(isDone)
    order = []
    loop.inPieces([1, 2]) {
      order.append("\($0)")
    } then: {
      loop.inPieces([3]) {
        order.append("\($0)")
      } then: {
      }
    }
    loop.run()
    #expect(order == ["1", "2", "3"], "one that ends begins another one")
  }

  @Test func `stop ends the run, and what is open goes on in the next`() throws {
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

  @Test func `a timer may be moved, and fires after its delay`() throws {
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

  @Test func `a turn's end is told once per turn, after its events`() throws {
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

  @Test func `onTurnEnd alone keeps no loop running`() throws {
    let loop = try Loop()
    loop.onTurnEnd = {}
    loop.run()
  }

  @Test func `what is deferred runs once, in order, and what it defers runs later`() throws {
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

  @Test func `a forgotten handle is found when the loop goes away`() async {
    await #expect(processExitsWith: .failure) {
      _ = Timer(loop: try Loop()) {}
    }
    await #expect(processExitsWith: .success) {
      let loop = try Loop()
      Timer(loop: loop) {}.close()
    }
  }

  @Test func `an owner is let go with its handle`() throws {
    let loop = try Loop()
    weak var timer: Timer?
    do {
      let held = Timer(loop: loop) {}
      timer = held
      loop.settle()
    }
    #expect(timer != nil)  // open: the loop may still call it
    timer?.close()
    loop.run()
    #expect(timer == nil)
  }

  @Test func `signals are events`() async {
    await #expect(processExitsWith: .success) {
      let loop = try Loop()
      var heard = 0
      let source = try SignalSource(loop: loop, signal: SIGHUP) { heard += 1 }
      kill(getpid(), SIGHUP)
      loop.run { heard == 1 }
      source.close()
      source.close()
      loop.run()
      #expect(throws: UVError.self) { try SignalSource(loop: loop, signal: SIGKILL) {} }
      #expect(throws: UVError.self) { try SignalSource(loop: loop, signal: 0) {} }
    }
  }

  @Test func `a loop does not die of SIGPIPE`() async {
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
    var heard = 0
    let source = try ReadableSource(loop: loop, descriptor: ends[0]) {
      var byte: UInt8 = 0
      #expect(read(ends[0], &byte, 1) == 1)
      heard += 1
    }
    loop.settle()
    #expect(heard == 0)
    #expect(write(ends[1], "ab", 2) == 2)
    loop.run { heard == 2 }
    source.pause()
    #expect(write(ends[1], "c", 1) == 1)
    loop.settle()
    #expect(heard == 2)
    source.resume()
    loop.run { heard == 3 }
    source.close()
    source.close()
    #expect(write(ends[1], "d", 1) == 1)
    loop.settle()
    #expect(heard == 3)
    ends.forEach { Glibc.close($0) }
    #expect(throws: UVError.self) { try ReadableSource(loop: loop, descriptor: -1) {} }
  }

  @Test func `another thread wakes the loop, and may come too late`() throws {
    let loop = try Loop()
    var heard = 0
    let wakeup = try Wakeup(loop: loop) { heard += 1 }
    let isOver = DispatchSemaphore(value: 0)
    DispatchQueue.global().async {
      for _ in 0..<1000 { wakeup.wake() }
      isOver.signal()
    }
    loop.run { heard > 0 }
    wakeup.close()
    wakeup.close()
    loop.run()
    let last = heard
    isOver.wait()
    wakeup.wake()
    #expect(heard == last)
  }

  @Test(arguments: [
    ([127, 0, 0, 1], 7070, "127.0.0.1:7070"),
    ([UInt8](repeating: 0, count: 15) + [1], 7070, "[::1]:7070"),
    ([0x20, 1, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [9], 0, "[2001:db8::9]:0"),
    ([1, 2, 3], 4, "?:4"),
  ])
  func `addresses print as URLs write them`(_ ip: [UInt8], _ port: UInt16, _ text: String) {
    #expect(SocketAddress(ip: ip, port: port).description == text)
  }

  @Test func `an unknown status has a description too`() {
    #expect(UVError(operation: "x", status: -99999).description.hasPrefix("x: "))
  }
}
