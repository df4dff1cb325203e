import Foundation
import Log
import ServerSupport
import StatusModel
import TestSupport
import Testing

/// Tests of `DaemonLog`, through which other tests read events and fields, and of the event table.
@Suite struct LogLinesMatchEventTable {
  @Test(arguments: ["", "plain", "a b", "=", "\"", "\\", "\\x20", "a=\"b\" c=d", "\u{1B}[2J\n", "caf\u{E9}"])
  func `DaemonLog reads each field value unchanged`(value: String) {
    let log = logged { $0.event(.ready, ("version", value), ("configuration", "after")) }
    #expect(log.lines.map { $0["version"] } == [value])
    #expect(log.contains(.ready, ["version": "\(value)", "configuration": "after", "detail": .absent]))
    #expect(!log.contains(.ready, ["version": "\(value)x"]) && !log.contains(.reloaded, ["version": .present]))
  }

  @Test(arguments: [
    "", "x", "time=", "level=info event=", "level=info event=ready event", "level=info event=ready a=b=c",
    "level=info event=ready a=\"b", "level=info event=ready a=\"b\"c=d", "level=info event=ready a=\"\\n\"",
    "level=info event=ready  a=b",
  ])
  func `a malformed line has no fields`(text: String) {
    #expect(LoggedLine(text[...])?.fields.isEmpty != false)
  }

  @Test func `DaemonLog finds lines whose level, fields or order differ from the event table`() {
    let log = logged { log in
      log.event(.ready, ("version", "1"), ("configuration", "c"))
      log.event(.ready, ("configuration", "c"))
      log.event(.configuration, at: .error, ("line", "1"))
    }
    #expect(log.lines.count == 3 && log.unexpectedLines.isEmpty)
    let unexpected = logged { log in
      log.event(.ready, at: .error, ("version", "1"))
      log.event(.ready, ("version", "1"), ("secret", "2"))
      log.event(.ready, ("configuration", "c"), ("version", "1"))
      log.event(.ready, ("version", "1"), ("version", "1"))
    }
    #expect(unexpected.lines.count == 4 && unexpected.unexpectedLines.count == 4)
    let torn = DaemonLog()
    torn.writing.write(Data("time=1 level=notice evtime=2\nno line of the log\n".utf8))
    try? torn.writing.close()
    torn.finish()
    #expect(torn.unexpectedLines.count == 1)
  }

  private func logged(_ write: (EventLog) -> Void) -> DaemonLog {
    let daemon = DaemonLog()
    let log = EventLog(hasPriorities: false, sink: LogSink(to: daemon.writing.fileDescriptor))
    write(log)
    log.flush()
    try? daemon.writing.close()
    daemon.finish()
    return daemon
  }
}
