import Foundation
import TestSupport
import Testing

/// `status --watch` on a terminal, which it restores.
@Suite struct WatchTests {
  private static let enters = "\u{1B}[?1049h\u{1B}[?25l"
  private static let leaves = "\u{1B}[?25h\u{1B}[?1049l"

  private func watch(
    columns: Int = 80, lines: Int = 24, services: Int = 2, isUnrecorded: Bool = false,
    environment: [String: String] = [:],
    _ body: (PseudoTerminal, ControlServer) throws -> Void
  ) throws {
    let scratch = try Scratch()
    let path = "\(scratch.path)/c.sock"
    let responses = (0..<60).map {
      StatusDocuments.response(
        second: $0, requests: 1_000 + 20 * $0, services: services, isUnrecorded: isUnrecorded)
    }
    let server = try ControlServer(path: path, responses: responses)
    let terminal = try PseudoTerminal(
      Run.binary, ["status", "--watch", "--control", path], columns: columns, lines: lines, environment: environment)
    try body(terminal, server)
    server.stop()
  }

  @Test(arguments: [(80, 24), (120, 40), (40, 10)])
  func `status --watch fits rates, percentiles, secrets and refusals on the screen`(columns: Int, lines: Int) throws {
    try watch(columns: columns, lines: lines) { terminal, _ in
      #expect(terminal.wait { $0.contains { $0.contains("20") && $0.hasPrefix("github") } }, "\(terminal.output)")
      let picture = terminal.picture
      #expect(picture.count == lines && picture.allSatisfy { $0.count <= columns }, "\(picture)")
      let github = try #require(picture.first { $0.hasPrefix("github") })
      if columns >= 80 {
        // Half of the requests took less than 1 ms, and half less than 10 ms.
        #expect(github.contains(/[▁▂▃▄▅▆▇█]+ +20 +1\.0 ms +9\.8 ms +3$/), "\(github)")
      }
      // The diagrams grow by one character each second.
      let text = picture.map { $0.replacing(/[ ]+[▁▂▃▄▅▆▇█]+[ ]+/, with: " ▁▂▃ ") + "\n" }.joined()
      #expect(text == (try golden("status-watch-\(columns).txt", for: text)))
      #expect(picture.last == "q: quit")
      terminal.type("q")
      #expect(terminal.waitForExit() == 0)
    }
  }

  @Test
  func `T58: status --watch shows at the top whether the audit file can be written`() throws {
    try watch(columns: 120, isUnrecorded: true) { terminal, _ in
      #expect(terminal.wait { $0.count > 2 && $0[2].hasPrefix("audit ") }, "\(terminal.picture)")
      let line = try #require(terminal.picture.dropFirst(2).first) + "\n"
      #expect(line == (try golden("status-watch-audit.txt", for: line)))
      terminal.type("q")
      #expect(terminal.waitForExit() == 0)
    }
    try watch { terminal, _ in
      #expect(terminal.wait { !$0.isEmpty && !$0.contains { $0.hasPrefix("audit") } })
      terminal.type("q")
      #expect(terminal.waitForExit() == 0)
    }
  }

  @Test
  func `status --watch counts the services that do not fit`() throws {
    try watch(services: 30) { terminal, _ in
      #expect(terminal.wait { $0.contains { $0.hasPrefix("… ") && $0.hasSuffix(" more") } }, "\(terminal.picture)")
      #expect(terminal.picture.count == 24 && terminal.picture.contains { $0.contains("pin-mismatch") })
      terminal.type("q")
      #expect(terminal.waitForExit() == 0)
    }
  }

  @Test(arguments: ["q", "\u{04}", "\u{03}", "TERM", "HUP", "INT"])
  func `every way to quit restores the terminal`(_ ending: String) throws {
    try watch { terminal, _ in
      #expect(terminal.wait { !$0.isEmpty })
      #expect(!terminal.isOrdinary)
      let signals = ["TERM": SIGTERM, "HUP": SIGHUP, "INT": SIGINT]
      if let signal = signals[ending] { kill(terminal.pid, signal) } else { terminal.type(ending) }
      let status = terminal.waitForExit()
      #expect(status == (ending == "q" || ending == "\u{04}" ? 0 : -(signals[ending] ?? SIGINT)))
      #expect(eventually { terminal.output.hasSuffix(Self.leaves) }, "\(terminal.output.suffix(60).debugDescription)")
      #expect(terminal.isOrdinary)
      #expect(terminal.output.components(separatedBy: Self.enters).count == 2)
    }
  }

  @Test
  func `Ctrl-Z restores the terminal, and SIGCONT draws again`() throws {
    try watch { terminal, _ in
      #expect(terminal.wait { !$0.isEmpty })
      let pid = terminal.pid
      // The terminal cannot stop an orphaned process group (POSIX), so the test sends the signal itself.
      kill(pid, SIGTSTP)
      #expect(eventually { terminal.output.hasSuffix(Self.leaves) || terminal.output.contains(Self.leaves) })
      kill(pid, SIGCONT)
      #expect(eventually { terminal.output.components(separatedBy: Self.enters).count >= 3 })
      #expect(eventually { !terminal.isOrdinary })
      terminal.type("q")
      #expect(terminal.waitForExit() == 0)
      #expect(eventually { terminal.output.hasSuffix(Self.leaves) })
    }
  }

  @Test
  func `a resized terminal gets a new picture`() throws {
    try watch { terminal, _ in
      #expect(terminal.wait { $0.count == 24 })
      terminal.resize(columns: 60, lines: 15)
      #expect(terminal.wait { $0.count == 15 && $0.allSatisfy { $0.count <= 60 } }, "\(terminal.picture)")
      terminal.type("q")
      #expect(terminal.waitForExit() == 0)
    }
  }

  @Test
  func `a lost daemon is reported, and the last picture stays`() throws {
    try watch { terminal, server in
      #expect(terminal.wait { !$0.isEmpty })
      server.stop()
      #expect(terminal.wait { $0.dropFirst().first?.contains("/c.sock: ") == true }, "\(terminal.picture)")
      #expect(terminal.picture.contains { $0.hasPrefix("github") })
      terminal.type("q")
      #expect(terminal.waitForExit() == 0)
    }
  }

  @Test
  func `status --watch uses no colors with NO_COLOR`() throws {
    try watch { terminal, _ in
      #expect(terminal.wait { !$0.isEmpty })
      #expect(terminal.output.contains("\u{1B}[32m"))
      terminal.type("q")
      #expect(terminal.waitForExit() == 0)
    }
    try watch(environment: ["NO_COLOR": "1"]) { terminal, _ in
      #expect(terminal.wait { !$0.isEmpty })
      #expect(!terminal.output.contains(/\u{1B}\[[0-9;]*[1-9][0-9;]*m/))
      terminal.type("q")
      #expect(terminal.waitForExit() == 0)
    }
  }

  @Test
  func `without a terminal status --watch prints one plain status after another`() throws {
    let scratch = try Scratch()
    let path = "\(scratch.path)/c.sock"
    let server = try ControlServer(
      path: path, responses: [StatusDocuments.response(), StatusDocuments.response(second: 1), "error\nenough\n"])
    let run = try Run("status", "--watch", "--control", path)
    server.stop()
    #expect(run.status == 1)
    #expect(run.output.components(separatedBy: "bearerd 0.1.0, up ").count == 3)
    #expect(!run.output.contains("\u{1B}"))
  }
}
