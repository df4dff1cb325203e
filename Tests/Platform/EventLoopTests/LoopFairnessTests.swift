import EventLoop
import Glibc
import Testing

@Suite struct LoopFairnessTests {
  /// Every connection always has more to read, and uses the whole time of a turn.
  @Test func `T60: no connection is read twice before every connection is read once`() throws {
    let loop = try Loop()
    let connections = try (0..<6).map { _ in try Connection(loop) }
    var order: [Int] = []
    for (index, connection) in connections.enumerated() {
      connection.serverSide.onRead = { _, _ in
        order.append(index)
        while !loop.isOutOfTime {}
        loop.write([1], to: connection.client)
      }
      loop.write([1], to: connection.client)
      connection.server.startReading()
    }
    var turns = 0
    while order.count < 6 * connections.count {
      let before = order.count
      loop.runOnce(waiting: true)
      turns += 1
      // The kernel may report some connections one turn later. After a read that used the whole time, the turn ends.
      #expect(order.count <= before + 1)
      try #require(turns < 1_000)
    }
    for start in stride(from: 0, to: order.count, by: connections.count) {
      #expect(Set(order[start..<start + connections.count]).count == connections.count, "\(order)")
    }
    for connection in connections { connection.close() }
  }

  @Test func `T60: timers, new connections and deferred calls run between reads that use a whole turn`() throws {
    let loop = try Loop()
    let connections = try (0..<3).map { _ in try Connection(loop) }
    let acceptor = Acceptor()
    let listener = try Listener(loop: loop, address: .loopback(), backlog: 16, reusePort: false)
    listener.delegate = acceptor
    var reads = 0
    for connection in connections {
      connection.serverSide.onRead = { _, _ in
        reads += 1
        while !loop.isOutOfTime {}
        loop.write([1], to: connection.client)
      }
      loop.write([1], to: connection.client)
      connection.server.startReading()
    }
    let descriptor = try plainClient(listener.port)
    try listener.start()
    var deferred: [Int] = []
    for number in 0..<4 {
      loop.onNextTurn {
        deferred.append(number)
        while !loop.isOutOfTime {}
      }
    }
    var fired = false
    let timer = Timer(loop: loop) { fired = true }
    timer.start(after: 1)
    var turns = 0
    while deferred.count < 4 || !fired || acceptor.streams.isEmpty {
      loop.runOnce(waiting: false)
      turns += 1
      try #require(turns < 100, "\(deferred) \(fired) \(acceptor.streams.count)")
    }
    #expect(deferred == [0, 1, 2, 3])
    #expect(reads <= turns)
    timer.close()
    close(descriptor)
    for stream in acceptor.streams { stream.close() }
    listener.close()
    for connection in connections { connection.close() }
  }

  @Test func `T54: after two connections with much work in a turn, the others have less time`() throws {
    let loop = try Loop()
    let connections = try (0..<3).map { _ in try Connection(loop) }
    var took: [Duration] = []
    for connection in connections {
      connection.serverSide.onRead = { _, _ in
        took.append(ContinuousClock().measure { while !loop.isStepLong {} })
      }
      connection.server.startReading()
    }
    // Another process can make each step longer, and can interrupt it before its time is measured.
    var shown = 0
    for _ in 0..<200 where shown < 5 {
      took = []
      for connection in connections { loop.write([1], to: connection.client) }
      while took.count < 3 { loop.runOnce(waiting: false) }
      if took[0] > .microseconds(400), took[1] > .microseconds(400), took[2] < .microseconds(300) { shown += 1 }
    }
    #expect(shown == 5, "\(took)")
    for connection in connections { connection.close() }
  }

  @Test func `T54: work that continues from turn to turn has equal shares, and at most two of them in a turn`() throws {
    let loop = try Loop()
    var (turn, order): (Int, [(turn: Int, work: Int)]) = (0, [])
    func work(_ number: Int) {
      order.append((turn, number))
      while !loop.isStepLong {}
      if order.count < 40 { loop.onNextTurn { work(number) } }
    }
    for number in 0..<5 { loop.onNextTurn { work(number) } }
    while loop.runOnce(waiting: false) { turn += 1 }
    #expect(order.map(\.work) == order.indices.map { $0 % 5 })
    #expect(Dictionary(grouping: order, by: \.turn).values.allSatisfy { $0.count <= 2 }, "\(order)")
  }

  @Test func `T60: a long turn is reported with its duration and its longest step`() throws {
    let loop = try Loop()
    var stalls: [LoopStall] = []
    loop.onStall = { stalls.append($0) }
    loop.onNextTurn {}
    loop.runOnce(waiting: false)
    let connection = try Connection(loop)
    #expect(stalls.isEmpty)
    var began = timespec()
    connection.serverSide.onRead = { _, _ in
      clock_gettime(CLOCK_MONOTONIC, &began)
      var now = began
      while (now.tv_sec - began.tv_sec) * 1_000 + (now.tv_nsec - began.tv_nsec) / 1_000_000 < 150 {
        clock_gettime(CLOCK_MONOTONIC, &now)
      }
    }
    connection.server.step = .client
    connection.server.startReading()
    loop.write([1], to: connection.client)
    loop.run { !connection.serverSide.events.isEmpty }
    loop.runOnce(waiting: false)
    let stall = try #require(stalls.first)
    #expect(stalls.count == 1 && stall.longest == .client)
    #expect(
      stall.milliseconds >= 140 && stall.longestMilliseconds >= 140 && stall.longestMilliseconds <= stall.milliseconds)
    #expect(loop.longestTurn >= 140_000)
    connection.close()
  }

  @Test func `T60: a loop counts as stuck only if it stays at one step`() throws {
    let loop = try Loop()
    var watch = PulseMonitor(count: 2)
    let other = LoopPulse()
    var seen: [PulseMonitor.Stuck?] = []
    var now: UInt64 = 1_000
    func check() {
      seen.append(watch.check([other, loop.pulse], now: now))
      now += 500
    }
    check()
    check()  // the loop waits
    for _ in 0..<3 {
      loop.onNextTurn {
        check()
      }
      loop.runOnce(waiting: false)
    }
    loop.onNextTurn {
      check()
      check()
      check()
    }
    loop.runOnce(waiting: false)
    check()
    #expect(seen.map { $0?.milliseconds } == [nil, nil, nil, nil, nil, nil, 500, 1_000, nil])
    #expect(seen[6]?.index == 1 && seen[6]?.step == .deferred)
  }
}
