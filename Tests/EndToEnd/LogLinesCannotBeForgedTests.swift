import Foundation
import TestSupport
import Testing

@Suite struct LogLinesCannotBeForged {
  /// The daemon's own file has the name that a forger would choose.
  @Test func `T48: what stands in a line ends no line and drives no terminal`() throws {
    let stage = try Stage()
    let name = "a\ntime=0 level=error event=forged\r\u{1B}[2J\"\\\u{9B}x.yaml"
    let file = try stage.scratch.write(name, stage.configuration(), mode: 0o644)
    let daemon = try RunningDaemon(configuration: file)
    #expect(daemon.waitForLog("event=ready"))
    let lines = daemon.logText.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    #expect(lines.allSatisfy { $0.hasPrefix("time=2") && $0.utf8.allSatisfy { (0x20...0x7E).contains($0) } })
    #expect(daemon.logText.contains(#"a\x0atime=0 level=error event=forged\x0d\x1b[2J\"\\\xc2\x9bx.yaml""#))
  }
}
