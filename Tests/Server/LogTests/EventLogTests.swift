import Foundation
import Glibc
import TestSupport
import Testing

@testable import Log

@Suite struct EventLogTests {
  let pipe: LogPipe
  let log: EventLog

  init() throws {
    pipe = try LogPipe()
    log = EventLog(hasPriorities: false, share: pipe.sink)
  }

  @Test func `a line has its time, its level, its event and its fields, in that order`() throws {
    log.event(.pin, at: .warning, ("one", "1"), ("absent", nil), ("two", "2"))
    #expect(pipe.text().isEmpty, "nothing is written before the turn ends")
    #expect(log.flush())
    let line = pipe.text()
    #expect(
      try #/time=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z level=warning event=pin one=1 two=2\n/#.wholeMatch(
        in: line) != nil, "\(line)")
  }

  @Test func `the journal gets priorities in place of times`() {
    let log = EventLog(hasPriorities: true, share: pipe.sink)
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
  func `T48: what stands in a value ends no line and drives no terminal`(_ value: String, _ written: String) {
    log.event(.pin, at: .info, ("value", value))
    log.flush()
    #expect(pipe.text().hasSuffix("event=pin value=\(written)\n"))
  }

  @Test func `of a value without an end, as much is written as anybody reads`() {
    log.event(.pin, at: .info, ("value", String(repeating: "y", count: 100_000)))
    log.flush()
    #expect(pipe.text().hasSuffix(" value=\"\(String(repeating: "y", count: 2_048))\"\n"))
  }

  @Test func `T58: while there is no room lines wait, and what does not fit is counted and told of`() throws {
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

  @Test func `a line that is a record finds room where others do not`() throws {
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
  @Test func `no worker writes into the line of another one`() throws {
    let pipe = try LogPipe()
    let (first, second) = (
      EventLog(hasPriorities: true, of: 0, share: pipe.sink), EventLog(hasPriorities: true, of: 1, share: pipe.sink)
    )
    let long = String(repeating: "l", count: 2_000)
    // More than a pipe holds.
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

  @Test func `a worker that has ended keeps nobody waiting for the rest of its line`() throws {
    let pipe = try LogPipe()
    let (first, second) = (
      EventLog(hasPriorities: true, of: 0, share: pipe.sink), EventLog(hasPriorities: true, of: 1, share: pipe.sink)
    )
    for _ in 0..<100 { first.event(.pin, at: .info, ("value", String(repeating: "l", count: 1_777))) }
    #expect(!first.flush())
    #expect(pipe.text().last != "\n", "it ended within a line")
    second.event(.ready, at: .info)
    #expect(!second.flush())
    pipe.sink.leave(0)
    #expect(second.flush())
    #expect(pipe.text() == "<6>level=info event=ready\n")
  }

  @Test func `what all workers see is told once, until it is something else`() throws {
    let sink = LogSink(to: -1)
    #expect(sink.isNews("clock", "+60"))
    #expect(!sink.isNews("clock", "+60"))
    #expect(sink.isNews("other", "+60"))
    #expect(sink.isNews("clock", "-60"))
    #expect(sink.isNews("clock", "+60"))
    // It remembers so much and no more.
    for number in 0..<4_096 { _ = sink.isNews("subject \(number)", "text") }
    #expect(sink.isNews("clock", "+60"))
  }

  @Test func `a log that nobody can take is no reason to wait`() {
    let log = EventLog(hasPriorities: true, share: LogSink(to: -1))
    log.event(.pin, at: .info)
    #expect(!log.flush())
    #expect(log.bufferedBytes > 0)
  }

  @Test func `each event is written somewhere, and says what it means in a sentence`() throws {
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
