import Foundation
import Log
import TestSupport
import Testing

@testable import Daemon
@testable import EventLoop

@Suite struct WatchdogTests {
  @Test func `T60: a loop that stays at one step is told of, once until it moves`() throws {
    let log = OutputCollector()
    let (idle, busy) = (LoopPulse(), LoopPulse())
    busy.begin(.reload, number: 1)
    let watchdog = Watchdog(
      interval: 40, pulses: [idle, busy], hasPriorities: true, log: LogSink(to: log.writing.fileDescriptor))
    #expect(log.wait { $0.contains("<3>level=error event=loop-stuck worker=2 step=reload milliseconds=") })
    // Ten looks more.
    usleep(100_000)
    #expect(log.text.components(separatedBy: "event=loop-stuck").count == 2)
    busy.begin(.client, number: 2)
    #expect(log.wait { $0.contains("worker=2 step=client ") })
    watchdog.close()
    #expect(log.text.components(separatedBy: "event=loop-stuck").count == 3)
  }
}
