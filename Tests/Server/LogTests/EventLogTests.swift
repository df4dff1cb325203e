import Foundation
import Glibc
import StatusModel
import TestSupport
import Testing

@testable import Log

@Suite struct EventLogTests {
  let pipe: LogPipe
  let log: EventLog

  init() throws {
    pipe = try LogPipe()
    log = EventLog(hasPriorities: false, sink: pipe.sink)
  }

  @Test func `a line has time, level, event and fields, in this order`() throws {
    log.event(.pin, at: .warning, ("one", "1"), ("absent", nil), ("two", "2"))
    #expect(pipe.text().isEmpty, "nothing is written before the turn ends")
    #expect(log.flush())
    let line = pipe.text()
    #expect(
      try #/time=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z level=warning event=pin one=1 two=2\n/#.wholeMatch(
        in: line) != nil, "\(line)")
  }

  @Test func `the journal gets priorities instead of times`() {
    let log = EventLog(hasPriorities: true, sink: pipe.sink)
    log.event(.pin, at: .error)
    log.event(.pin, at: .warning)
    log.event(.pin, at: .notice)
    log.event(.pin, at: .info)
    log.flush()
    #expect(
      pipe.lines() == [
        "<3>level=error event=pin", "<4>level=warning event=pin", "<5>level=notice event=pin",
        "<6>level=info event=pin",
      ])
  }

  @Test(arguments: [
    ("plain", "plain"), ("", "\"\""), ("two words", "\"two words\""), ("a=b", "\"a=b\""), ("a\"b", "\"a\\\"b\""),
    ("a\\b", "\"a\\\\b\""), ("a\nlevel=error", "\"a\\x0alevel=error\""), ("\u{1B}[31m", "\"\\x1b[31m\""),
    ("\u{E9}", "\"\\xc3\\xa9\""), ("\u{7F}", "\"\\x7f\""),
  ])
  func `T48: control characters in a value are escaped`(_ value: String, _ written: String) {
    log.event(.pin, at: .info, ("value", value))
    log.flush()
    #expect(pipe.text().hasSuffix("event=pin value=\(written)\n"))
  }

  @Test func `a long value is cut after 2,048 bytes`() {
    log.event(.pin, at: .info, ("value", String(repeating: "y", count: 100_000)))
    log.flush()
    #expect(pipe.text().hasSuffix(" value=\"\(String(repeating: "y", count: 2_048))\"\n"))
  }

  @Test func `T58: lines are buffered while the pipe is full, and dropped lines are counted and logged`() throws {
    pipe.fill()
    let value = String(repeating: "v", count: 1_000)
    for _ in 0..<1_200 { log.event(.pin, at: .info, ("value", value)) }
    #expect(!log.flush())
    #expect(log.bufferedBytes <= (1 << 20) + 2_000)
    let dropped = log.droppedCount
    #expect(dropped > 100 && dropped < 250, "\(dropped)")
    var text = pipe.text()
    while !log.flush() { text += pipe.text() }
    text += pipe.text()
    log.flush()
    text += pipe.text()
    let lines = text.drop { $0 == "." }.split(separator: "\n")
    #expect(lines.count { $0.hasSuffix("event=pin value=\(value)") } == 1_200 - Int(dropped), "each line is whole")
    #expect(lines.filter { $0.contains("event=log-lines-dropped count=\(dropped)") }.count == 1)
    #expect(lines.count == 1_201 - Int(dropped))
    log.event(.ready, at: .info)
    #expect(log.flush())
    #expect(log.droppedCount == dropped)
  }

  @Test func `an audit record has reserved room when the buffer is full`() throws {
    pipe.fill()
    while log.droppedCount == 0 { log.event(.pin, at: .info, ("value", String(repeating: "v", count: 2_000))) }
    let before = log.bufferedBytes
    if let line = log.begin(.info) { log.end(line) }
    #expect(log.bufferedBytes == before)
    if let line = log.begin(.info, isRecord: true) { log.end(line) }
    #expect(log.bufferedBytes > before)
  }
}

@Suite struct LogSinkTests {
  @Test func `a worker never writes into a line of another worker`() throws {
    let pipe = try LogPipe()
    let (first, second) = (
      EventLog(hasPriorities: true, worker: 0, sink: pipe.sink),
      EventLog(hasPriorities: true, worker: 1, sink: pipe.sink)
    )
    let long = String(repeating: "l", count: 2_000)
    // More than the pipe can buffer.
    for _ in 0..<100 { first.event(.pin, at: .info, ("value", long)) }
    #expect(!first.flush())
    second.event(.ready, at: .info)
    var text = ""
    var isSecondOut = second.flush()
    while !first.flush() {
      text += pipe.text()
      if !isSecondOut { isSecondOut = second.flush() }
    }
    second.flush()
    text += pipe.text()
    let lines = text.split(separator: "\n")
    #expect(lines.count { $0 == "<6>level=info event=pin value=\(long)" } == 100)
    #expect(lines.count { $0 == "<6>level=info event=ready" } == 1)
    #expect(lines.count == 101)
  }

  @Test func `an unfinished line of an ended worker does not block other workers`() throws {
    let pipe = try LogPipe()
    let (first, second) = (
      EventLog(hasPriorities: true, worker: 0, sink: pipe.sink),
      EventLog(hasPriorities: true, worker: 1, sink: pipe.sink)
    )
    for _ in 0..<100 { first.event(.pin, at: .info, ("value", String(repeating: "l", count: 1_777))) }
    #expect(!first.flush())
    #expect(pipe.text().last != "\n", "it ended within a line")
    second.event(.ready, at: .info)
    #expect(!second.flush())
    pipe.sink.detach(0)
    #expect(second.flush())
    #expect(pipe.text() == "<6>level=info event=ready\n")
  }

  @Test func `an observation of several workers is logged once until its value changes`() throws {
    let sink = LogSink(to: -1)
    #expect(sink.recordIfChanged("clock", "+60"))
    #expect(!sink.recordIfChanged("clock", "+60"))
    #expect(sink.recordIfChanged("other", "+60"))
    #expect(sink.recordIfChanged("clock", "-60"))
    #expect(sink.recordIfChanged("clock", "+60"))
    // The sink remembers a limited number of subjects.
    for number in 0..<4_096 { _ = sink.recordIfChanged("subject \(number)", "text") }
    #expect(sink.recordIfChanged("clock", "+60"))
  }

  @Test func `an invalid log descriptor does not block`() {
    let log = EventLog(hasPriorities: true, sink: LogSink(to: -1))
    log.event(.pin, at: .info)
    #expect(!log.flush())
    #expect(log.bufferedBytes > 0)
  }

  @Test func `each event of the table is logged somewhere and is described in a sentence`() throws {
    let folder = URL(filePath: repositoryRoot).appending(path: "Sources/Server")
    var words: Set<Substring> = []
    for case let file as String in try #require(FileManager.default.enumerator(atPath: folder.path))
    where file.hasSuffix(".swift") && !file.hasSuffix("LogEvent.swift") {
      let text = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
      words.formUnion(text.matches(of: /\.(\w+)/).map(\.1))
    }
    for event in LogEvent.allCases {
      #expect(words.contains("\(event)"), "no line has \(event.rawValue)")
      #expect(event.row.what.description.hasSuffix("."))
    }
  }
}
