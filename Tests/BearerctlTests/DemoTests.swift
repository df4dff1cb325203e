import Foundation
import Testing

@Suite struct DemoTests {
  @Test("--once shows all three promises, exits with 0 and leaves nothing behind")
  func once() throws {
    let scratch = try Scratch()
    let run = try Run("demo", "--once", environment: ["TMPDIR": scratch.path])
    #expect(run.status == 0, "\(run.output)\n\(run.errors)")
    #expect(run.errors == "")
    for part in [
      "curl http://localhost:", "bearer: { file: demo.token }", "what the program sent", "what the upstream received",
      "200 OK, \"Hello. Your token is right.\"", "verified: chain, name, pin (TLSv1.3)",
      "502 Bad Gateway, by bearerd: pin-mismatch", "Connections that the impostor saw: 1\n",
      "Bytes of the request that it received: 0\n", "403 Forbidden, by bearerd: no-rule", "Everything was as promised.",
    ] {
      #expect(run.output.contains(part), "\(part)")
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == [])
  }

  @Test("the token stands once, in what the upstream received, and not on the program's side")
  func sideBySide() throws {
    let run = try Run("demo", "--once")
    let line = try #require(run.output.split(separator: "\n").first { $0.contains("Authorization: Bearer demo-") })
    let token = try #require(line.split(separator: " ").last)
    #expect(run.output.components(separatedBy: token).count == 2)
    #expect(line.distance(from: line.startIndex, to: line.firstRange(of: "Authorization")!.lowerBound) == 40)
  }

  @Test("no terminal: no escape sequences, and no line is wider than 80 columns")
  func plain() throws {
    let run = try Run("demo", "--once", environment: ["TERM": "xterm-256color", "TMPDIR": "/tmp"])
    #expect(!run.output.contains("\u{1B}"))
    #expect(run.output.split(separator: "\n").filter { $0.count > 80 } == [])
  }

  @Test(
    "it serves until it is interrupted, tells what the upstream receives, and cleans up",
    arguments: [
      SIGINT, SIGTERM, SIGHUP,
    ])
  func serving(signal: Int32) throws {
    let scratch = try Scratch()
    let demo = try RunningDemo(directory: scratch.path)
    #expect(try get(demo.port, "/demo/hello/you").hasPrefix("HTTP/1.1 200 "))
    #expect(try get(demo.port, "/impostor/x").hasPrefix("HTTP/1.1 502 "))
    try demo.wait(for: "upstream received  GET /hello/you   Authorization: Bearer demo-")
    try demo.wait(for: "bearerd refused    GET /impostor/x   502 pin-mismatch\n")
    #expect(demo.end(with: signal) == 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == [])
  }

  @Test("killed outright, it takes bearerd with it")
  func killed() throws {
    let scratch = try Scratch()
    let demo = try RunningDemo(directory: scratch.path)
    // Returns when nobody holds its output any more: bearerd inherited it.
    #expect(demo.end(with: SIGKILL) == 128 + SIGKILL)
    #expect(throws: (any Error).self) { try get(demo.port, "/demo/hello/you") }
  }

  @Test("a port that is taken is the end, with what bearerd says about it")
  func portTaken() throws {
    let demo = try RunningDemo(directory: NSTemporaryDirectory())
    defer { _ = demo.end(with: SIGTERM) }
    let run = try Run("demo", "--once", "--port", "\(demo.port)")
    #expect(run.status == 71)
    #expect(run.errors.contains("address already in use"), "\(run.errors)")
  }

  private func get(_ port: UInt16, _ path: String) throws -> String {
    let run = try Run(
      program: "/usr/bin/curl", ["-sSi", "--noproxy", "*", "http://localhost:\(port)\(path)"])
    guard run.status == 0 else { throw CocoaError(.fileReadUnknown) }
    return run.output
  }
}

/// `bearerctl demo` while it serves.
private final class RunningDemo {
  private let process = Process()
  private let pipe = Pipe.private
  private var text = ""
  private(set) var port: UInt16 = 0

  init(directory: String) throws {
    process.executableURL = URL(fileURLWithPath: Run.binary)
    process.arguments = ["demo"]
    process.environment = ["PATH": "/usr/bin:/bin", "TMPDIR": directory]
    process.standardOutput = pipe.fileHandleForWriting
    process.standardError = pipe.fileHandleForWriting
    try process.run()
    try pipe.fileHandleForWriting.close()
    try wait(for: "Ctrl-C ends it.\n")
    let start = try #require(text.firstRange(of: "curl http://localhost:")).upperBound
    port = try #require(UInt16(text[start...].prefix(while: \.isNumber)))
  }

  deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

  func wait(for part: String) throws {
    while !text.contains(part) {
      let data = pipe.fileHandleForReading.availableData
      try #require(!data.isEmpty, "it ended: \(text)")
      text += String(decoding: data, as: UTF8.self)
    }
  }

  func end(with signal: Int32) -> Int32 {
    kill(process.processIdentifier, signal)
    _ = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return process.terminationReason == .exit ? process.terminationStatus : 128 + process.terminationStatus
  }
}
