import EventLoop
import Glibc
import Testing

@Suite struct TurnTests {
  /// Each of them always has more to read, and takes all the time of a turn.
  @Test func `T60: when a turn has no time for all, nobody is read twice before everybody was once`() throws {
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
      // The kernel may tell of some of them a turn later; nobody comes behind one that took all the time.
      #expect(order.count <= before + 1)
      try #require(turns < 1_000)
    }
    for start in stride(from: 0, to: order.count, by: connections.count) {
      #expect(Set(order[start..<start + connections.count]).count == connections.count, "\(order)")
    }
    for connection in connections { connection.close() }
  }

  @Test func `T60: timers, new connections and what was put off come between those who take all the time`() throws {
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
    var put: [Int] = []
    for number in 0..<4 {
      loop.onNextTurn {
        put.append(number)
        while !loop.isOutOfTime {}
      }
    }
    var fired = false
    let timer = Timer(loop: loop) { fired = true }
    timer.start(after: 1)
    var turns = 0
    while put.count < 4 || !fired || acceptor.streams.isEmpty {
      loop.runOnce(waiting: false)
      turns += 1
      try #require(turns < 100, "\(put) \(fired) \(acceptor.streams.count)")
    }
    #expect(put == [0, 1, 2, 3])
    #expect(reads <= turns)
    timer.close()
    close(descriptor)
    for stream in acceptor.streams { stream.close() }
    listener.close()
    for connection in connections { connection.close() }
  }

  @Test func `T60: a long turn says how long it took and what took the longest`() throws {
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

  @Test func `T60: a loop is stuck when it stays at one step, and not while it waits or begins others`() throws {
    let loop = try Loop()
    var watch = PulseWatch(count: 2)
    let other = LoopPulse()
    var seen: [PulseWatch.Stuck?] = []
    var now: UInt64 = 1_000
    func look() {
      seen.append(watch.look(at: [other, loop.pulse], now: now))
      now += 500
    }
    look()
    look()  // it waits
    for _ in 0..<3 {
      loop.onNextTurn {
        look()
      }
      loop.runOnce(waiting: false)
    }
    loop.onNextTurn {
      look()
      look()
      look()
    }
    loop.runOnce(waiting: false)
    look()
    #expect(seen.map { $0?.milliseconds } == [nil, nil, nil, nil, nil, nil, 500, 1_000, nil])
    #expect(seen[6]?.index == 1 && seen[6]?.step == .deferred)
  }
}
