import Foundation
import TestSupport
import Testing

@Suite struct DemoRunTests {
  @Test
  func `--once shows all three promises, exits with 0 and leaves nothing behind`() throws {
    let scratch = try Scratch()
    let run = try Run("demo", "--once", environment: ["TMPDIR": scratch.path])
    #expect(run.status == 0, "\(run.output)\n\(run.errors)")
    #expect(run.errors == "")
    let text = plainDemo(run.output)
    #expect(text == (try golden("demo.txt", for: text)))
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == [])
  }

  @Test
  func `--grpc --once shows all three promises for calls, and leaves nothing behind`() throws {
    let scratch = try Scratch()
    let run = try Run("demo", "--grpc", "--once", environment: ["TMPDIR": scratch.path])
    #expect(run.status == 0, "\(run.output)\n\(run.errors)")
    #expect(run.errors == "")
    let text = plainDemo(run.output)
    #expect(text == (try golden("demo-grpc.txt", for: text)))
    #expect(run.output.split(separator: "\n").filter { $0.count > 80 } == [])
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == [])
  }

  @Test
  func `the token appears once, in the request that the upstream received`() throws {
    let run = try Run("demo", "--once")
    let line = try #require(run.output.split(separator: "\n").first { $0.contains("Authorization: Bearer demo-") })
    let token = try #require(line.split(separator: " ").last)
    #expect(run.output.components(separatedBy: token).count == 2)
    #expect(line.distance(from: line.startIndex, to: line.firstRange(of: "Authorization")!.lowerBound) == 40)
  }

  @Test
  func `without a terminal the demo prints no escape sequences and at most 80 columns`() throws {
    let run = try Run("demo", "--once", environment: ["TERM": "xterm-256color", "TMPDIR": "/tmp"])
    #expect(!run.output.contains("\u{1B}"))
    #expect(run.output.split(separator: "\n").filter { $0.count > 80 } == [])
  }

  @Test(arguments: [
    SIGINT, SIGTERM, SIGHUP, SIGQUIT,
  ])
  func `the demo serves until a signal, prints received requests, and cleans up`(signal: Int32) throws {
    let scratch = try Scratch()
    let demo = try RunningDemo(directory: scratch.path)
    #expect(try get(demo.port, "/demo/hello/you").hasPrefix("HTTP/1.1 200 "))
    #expect(try get(demo.port, "/impostor/x").hasPrefix("HTTP/1.1 502 "))
    try demo.wait(for: "upstream received  GET /hello/you   Authorization: Bearer demo-")
    try demo.wait(for: "bearerd refused    GET /impostor/x   502 pin-mismatch\n")
    #expect(demo.end(with: signal) == 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == [])
  }

  @Test
  func `killing the demo also ends bearerd`() throws {
    let scratch = try Scratch()
    let demo = try RunningDemo(directory: scratch.path)
    // Returns when all holders of the output have ended, including bearerd.
    #expect(demo.end(with: SIGKILL) == -SIGKILL)
    #expect(throws: (any Error).self) { try get(demo.port, "/demo/hello/you") }
  }

  @Test
  func `the demo ends with bearerd's error if the port is in use`() throws {
    let demo = try RunningDemo(directory: NSTemporaryDirectory())
    defer { _ = demo.end(with: SIGTERM) }
    let run = try Run("demo", "--once", "--port", "\(demo.port)")
    #expect(run.status == 71)
    let errors = plainDemo(run.errors)
    #expect(errors == (try golden("demo-port-in-use.txt", for: errors)))
  }

  private func get(_ port: UInt16, _ path: String) throws -> String {
    let run = try Run(
      program: "/usr/bin/curl", ["-sSi", "--noproxy", "*", "http://localhost:\(port)\(path)"])
    guard run.status == 0 else { throw CocoaError(.fileReadUnknown) }
    return run.output
  }
}

/// Returns the output of a demo with names for its directory, ports, keys and tokens, and without the time that is left.
func plainDemo(_ text: String) -> String {
  text.replacing(/are in\s+[^ ]*\/bearerd-demo-\w+/, with: "are in DIR")
    .replacing(/localhost:[1-9]\d*/, with: "localhost:PORT")
    .replacing(/main: (127\.0\.0\.1|\[::1\]):\d+/, with: "main: ADDRESS:PORT")
    .replacing(/allow_users: \[\d+\]( +#)?/) { "allow_users: [UID]\($0.1 == nil ? "" : "  #")" }
    .replacing(/sha256\/[A-Za-z0-9+\/]{43}=/, with: "sha256/PIN")
    .replacing(/demo-[a-z0-9]{8,}/, with: "demo-TOKEN")
    .replacing(/token-\d+-\w+/, with: "token-N-RANDOM")
    .replacing(/[A-Z]{4}-[A-Z]{4}/, with: "CODE-CODE")
    .replacing(/(?m)^waiting: .* left\n/, with: "")
    .replacing(/valid for \d+ s/, with: "valid for N s")
    .replacing(/program: \d+/, with: "program: N")
}

private final class RunningDemo {
  private let process: Child
  private let output = OutputCollector()
  let port: UInt16

  init(directory: String) throws {
    process = try Child(
      Run.binary, ["demo"], environment: ["PATH": "/usr/bin:/bin", "TMPDIR": directory],
      output: output.writing.fileDescriptor, errors: output.writing.fileDescriptor)
    try output.writing.close()
    try #require(output.wait { $0.contains("Ctrl-C") }, "it ended: \(output.text)")
    let text = output.text
    let start = try #require(text.firstRange(of: "curl http://localhost:")).upperBound
    port = try #require(UInt16(text[start...].prefix(while: \.isNumber)))
  }

  func wait(for part: String) throws {
    try #require(output.wait { $0.contains(part) }, "it ended: \(output.text)")
  }

  func end(with signal: Int32) -> Int32 {
    process.kill(signal)
    output.finish()
    return process.wait()
  }
}
