import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// What tests know of the log: events and fields, read as they were written, and judged by the table of events.
@Suite struct LogLinesAreAsTabled {
  @Test(arguments: ["", "plain", "a b", "=", "\"", "\\", "\\x20", "a=\"b\" c=d", "\u{1B}[2J\n", "caf\u{E9}"])
  func `a field is read as it was written`(value: String) {
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
  func `a line that is not whole has no fields`(text: String) {
    #expect(LoggedLine(text[...])?.fields.isEmpty != false)
  }

  @Test func `a line with another level, another field or another order than its row is found`() {
    let log = logged { log in
      log.event(.ready, ("version", "1"), ("configuration", "c"))
      log.event(.ready, ("configuration", "c"))
      log.event(.configuration, at: .error, ("line", "1"))
    }
    #expect(log.lines.count == 3 && log.strangeLines.isEmpty)
    let strange = logged { log in
      log.event(.ready, at: .error, ("version", "1"))
      log.event(.ready, ("version", "1"), ("secret", "2"))
      log.event(.ready, ("configuration", "c"), ("version", "1"))
      log.event(.ready, ("version", "1"), ("version", "1"))
    }
    #expect(strange.lines.count == 4 && strange.strangeLines.count == 4)
    let torn = DaemonLog()
    torn.writing.write(Data("time=1 level=notice evtime=2\nno line of the log\n".utf8))
    try? torn.writing.close()
    torn.finish()
    #expect(torn.strangeLines.count == 1)
  }

  private func logged(_ write: (EventLog) -> Void) -> DaemonLog {
    let daemon = DaemonLog()
    let log = EventLog(hasPriorities: false, share: LogSink(to: daemon.writing.fileDescriptor))
    write(log)
    log.flush()
    try? daemon.writing.close()
    daemon.finish()
    return daemon
  }
}
