import Glibc
import TestSupport
import Testing

@testable import Log

@Suite struct AccessLogTests {
  let pipe: LogPipe
  let log: AccessLog

  init() throws {
    pipe = try LogPipe()
    log = AccessLog(hasPriorities: false, share: pipe.sink)
  }

  @Test func `a line has its time, its level, its event and its fields, in that order`() throws {
    log.event(.warning, "something", ("one", "1"), ("absent", nil), ("two", "2"))
    #expect(pipe.text().isEmpty, "nothing is written before the turn ends")
    #expect(log.flush())
    let line = pipe.text()
    #expect(
      try #/time=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z level=warning event=something one=1 two=2\n/#.wholeMatch(
        in: line) != nil, "\(line)")
  }

  @Test func `the journal gets priorities in place of times`() {
    let log = AccessLog(hasPriorities: true, share: pipe.sink)
    log.event(.error, "a")
    log.event(.warning, "b")
    log.event(.notice, "c")
    log.event(.info, "d")
    log.flush()
    #expect(
      pipe.lines() == [
        "<3>level=error event=a", "<4>level=warning event=b", "<5>level=notice event=c", "<6>level=info event=d",
      ])
  }

  @Test(arguments: [
    ("plain", "plain"), ("", "\"\""), ("two words", "\"two words\""), ("a=b", "\"a=b\""), ("a\"b", "\"a\\\"b\""),
    ("a\\b", "\"a\\\\b\""), ("a\nlevel=error", "\"a\\x0alevel=error\""), ("\u{1B}[31m", "\"\\x1b[31m\""),
    ("\u{E9}", "\"\\xc3\\xa9\""), ("\u{7F}", "\"\\x7f\""),
  ])
  func `T48: what stands in a value ends no line and drives no terminal`(_ value: String, _ written: String) {
    log.event(.info, "x", ("value", value))
    log.flush()
    #expect(pipe.text().hasSuffix("event=x value=\(written)\n"))
  }

  @Test func `of a value without an end, as much is written as anybody reads`() {
    log.event(.info, "x", ("value", String(repeating: "y", count: 100_000)))
    log.flush()
    #expect(pipe.text().hasSuffix(" value=\"\(String(repeating: "y", count: 2_048))\"\n"))
  }

  @Test func `T58: while there is no room lines wait, and what does not fit is counted and told of`() throws {
    pipe.fill()
    let value = String(repeating: "v", count: 1_000)
    for _ in 0..<1_200 { log.event(.info, "x", ("value", value)) }
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
    #expect(lines.count { $0.hasSuffix("event=x value=\(value)") } == 1_200 - Int(dropped), "each line is whole")
    #expect(lines.filter { $0.contains("event=log-lines-dropped count=\(dropped)") }.count == 1)
    #expect(lines.count == 1_201 - Int(dropped))
    log.event(.info, "later")
    #expect(log.flush())
    #expect(log.droppedCount == dropped)
  }

  @Test func `a line that is a record finds room where others do not`() throws {
    pipe.fill()
    while log.droppedCount == 0 { log.event(.info, "x", ("value", String(repeating: "v", count: 2_000))) }
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
      AccessLog(hasPriorities: true, of: 0, share: pipe.sink), AccessLog(hasPriorities: true, of: 1, share: pipe.sink)
    )
    let long = String(repeating: "l", count: 2_000)
    // More than a pipe holds.
    for _ in 0..<100 { first.event(.info, "first", ("value", long)) }
    #expect(!first.flush())
    second.event(.info, "second")
    var text = ""
    var isSecondOut = second.flush()
    while !first.flush() {
      text += pipe.text()
      if !isSecondOut { isSecondOut = second.flush() }
    }
    second.flush()
    text += pipe.text()
    let lines = text.split(separator: "\n")
    #expect(lines.count { $0 == "<6>level=info event=first value=\(long)" } == 100)
    #expect(lines.count { $0 == "<6>level=info event=second" } == 1)
    #expect(lines.count == 101)
  }

  @Test func `a worker that has ended keeps nobody waiting for the rest of its line`() throws {
    let pipe = try LogPipe()
    let (first, second) = (
      AccessLog(hasPriorities: true, of: 0, share: pipe.sink), AccessLog(hasPriorities: true, of: 1, share: pipe.sink)
    )
    for _ in 0..<100 { first.event(.info, "first", ("value", String(repeating: "l", count: 1_777))) }
    #expect(!first.flush())
    #expect(pipe.text().last != "\n", "it ended within a line")
    second.event(.info, "second")
    #expect(!second.flush())
    pipe.sink.leave(0)
    #expect(second.flush())
    #expect(pipe.text() == "<6>level=info event=second\n")
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
    let log = AccessLog(hasPriorities: true, share: LogSink(to: -1))
    log.event(.info, "x")
    #expect(!log.flush())
    #expect(log.bufferedBytes > 0)
  }
}
