import Foundation
import Log
import ServerSupport
import StatusModel
import TestSupport
import Testing

@testable import Daemon
@testable import EventLoop

@Suite struct WatchdogTests {
  @Test func `T60: a loop that is stuck in one step is reported once for each step`() throws {
    let log = DaemonLog()
    let (idle, busy) = (LoopPulse(), LoopPulse())
    busy.begin(.reload, number: 1)
    let watchdog = Watchdog(
      interval: 40, pulses: [idle, busy], hasPriorities: true, sink: LogSink(to: log.writing.fileDescriptor))
    #expect(log.wait(for: .loopStuck, ["worker": 2, "step": "reload", "milliseconds": .present]))
    // Time for ten more checks of the watchdog.
    usleep(100_000)
    #expect(log.lines(of: .loopStuck).count == 1 && log.bytes.starts(with: "<3>".utf8))
    busy.begin(.client, number: 2)
    #expect(log.wait(for: .loopStuck, ["worker": 2, "step": "client"]))
    watchdog.close()
    #expect(log.lines(of: .loopStuck).count == 2)
  }
}
