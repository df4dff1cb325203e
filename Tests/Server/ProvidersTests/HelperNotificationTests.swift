import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A git helper is notified only about its latest value, and only of the events that it supports (T42).
@Suite(.inProcess) struct HelperNotificationTests {
  /// Returns a stage that delays its response to the first request until the file `go` exists.
  private static func stage() throws -> Stage {
    let delayed = Counter()
    let go = FileGate()
    let stage = try Stage(
      handler: UpstreamServer.httpHandler { request in
        if request.text.contains("Bearer WRONG-first"), delayed.add() == 0 { go.wait() }
        let isWrong = request.text.contains("WRONG")
        return Array(
          (isWrong
            ? "HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno"
            : "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            .utf8)
      })
    go.path = "\(stage.scratch.path)/go"
    return stage
  }

  /// Waits for a file.
  private final class FileGate: @unchecked Sendable {
    /// Set before the first wait.
    var path = ""

    func wait() { _ = eventually { access(path, F_OK) == 0 } }
  }

  private func helper(_ stage: Stage) throws -> String {
    let path = stage.scratch.path
    let script = "echo \"$1\" >> HERE/calls\ncat > HERE/$1\ntest \"$1\" = get && cat HERE/answer; true\n"
    let text = "#!/bin/sh\n\(script)".replacing("HERE", with: path)
    return try stage.scratch.write("helper", text, mode: 0o700)
  }

  private func start(_ stage: Stage, _ options: String = "") throws {
    try stage.start(
      stage.configuration(
        credential: "bearer: { command: [\(try helper(stage))], format: git-credential\(options) }\n    suspend: off"))
  }

  private func notes(_ stage: Stage, _ name: String) -> String {
    let bytes = FileHandle(forReadingAtPath: "\(stage.scratch.path)/\(name)")?.readDataToEndOfFile() ?? Data()
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test func `T42: a rejection of an old value does not erase the newer value`() throws {
    let stage = try Self.stage()
    try stage.scratch.write("answer", "password=WRONG-first\n")
    try start(stage, ", ttl: 1s")
    let early = try stage.client()
    try early.send(stage.head("GET"))
    #expect(eventually { stage.recorded.contains("WRONG-first") })
    try stage.scratch.write("answer", "password=\(stage.canary)\n")
    #expect(stage.log.wait(for: .credentialChanged, ["credential": "canary", "credential_generation": 2]))
    try stage.scratch.write("go", "")
    #expect(try early.response().status == 401)
    #expect(try stage.get().status == 200)
    #expect(!notes(stage, "calls").contains("erase"))
    #expect(!stage.log.contains(.commandValueRejected))
    stage.assertCanary(times: 1)
  }

  /// A 401 to a request without the credential says nothing about the value.
  @Test func `T42: a helper gets the erase command only for a value that was sent to the upstream`() throws {
    let server = DigestServer()
    let stage = try Stage(handler: { server.serve($0) })
    server.change { $0.password = "another" }
    try stage.scratch.write("answer", "password=\(stage.canary)\n")
    let password = "password: { command: [\(try helper(stage))], format: git-credential, ttl: none }"
    func configuration(_ algorithm: String) -> String {
      stage.configuration(
        credential: "digest: { user: deploy, \(password), algorithms: [\(algorithm)] }", more: "control: control.sock\n"
      )
    }
    // The upstream asks for an algorithm that is not configured.
    try stage.start(configuration("SHA-512-256"))
    for _ in 0..<3 { #expect(try stage.get().status == 401) }
    #expect(server.verdicts == ["bare", "bare", "bare"])
    // The event would be logged before the response is forwarded.
    #expect(try stage.control("status").hasPrefix("ok\n"))
    #expect(!stage.log.contains(.commandValueRejected))
    // The helper is notified about a value that was sent.
    try stage.reload(configuration("SHA-256"))
    #expect(try stage.get().status == 401)
    #expect(eventually { notes(stage, "calls").contains("erase") })
    #expect(notes(stage, "calls").components(separatedBy: "erase").count == 2)
    #expect(server.verdicts == ["bare", "bare", "bare", "bare", "wrong"])
    stage.assertCanary(times: 0)
  }

  @Test func `T42: a helper gets no store command by default`() throws {
    let stage = try Self.stage()
    try stage.scratch.write("answer", "password=\(stage.canary)\n")
    try start(stage, ", ttl: 1s")
    #expect(try stage.get().status == 200)
    // A store command would come before the next get command.
    #expect(eventually { notes(stage, "calls").split(separator: "\n").count >= 3 })
    #expect(!notes(stage, "calls").contains("store"))
    stage.assertCanary(times: 1)
  }
}
