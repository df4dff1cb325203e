import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// The daemon starts without the secrets whose files do not respond, and reads them as soon as the files respond.
@Suite(
  .waits, .enabled(if: isRoot && !isSanitized, "fanotify and mounts are for root; a sanitizer waits for the thread"))
struct StartsWorkWhileFilesHang {
  private func configuration(_ stage: Stage, _ credential: String, more: [String] = []) throws -> String {
    try stage.scratch.write("second.token", "SECOND-secret")
    let others = more.isEmpty ? [] : more.indices.map { "c\($0)" }
    let credentials = (["second"] + others).map { name in
      "  \(name): { origins: [\"\(stage.origin)\"], bearer: { file: \(name == "second" ? "second.token" : "many/\(name)") } }"
    }
    let services = (["second"] + others).map { name in
      "  \(name): { upstream: \(stage.origin)/base/, ca_file: ca.pem, credential: \(name) }"
    }
    return stage.configuration(
      credential: credential, more: "control: \(stage.scratch.path)/control.sock",
      services: services.joined(separator: "\n")
    ).replacing("credentials:\n", with: "credentials:\n" + credentials.joined(separator: "\n") + "\n")
  }

  /// Sends a request, and returns the token that the upstream received. `nil` if the credential is unavailable.
  private func token(_ stage: Stage, _ service: String) throws -> String? {
    let name = UUID().uuidString
    let response = try stage.get("/\(service)/\(name)")
    guard response.status == 200 else {
      #expect(response.status == 503 && response.text.contains("credential-unavailable"), "\(response.text)")
      return nil
    }
    let request = stage.recorded.components(separatedBy: "GET /base/\(name) ").last
    return request?.components(separatedBy: "Authorization: Bearer ").dropFirst().first?
      .components(separatedBy: "\r\n").first
  }

  private func assertCanary(_ stage: Stage) {
    stage.assertCanary(times: stage.recorded.components(separatedBy: stage.canary).count - 1)
  }

  @Test func `T55: the daemon starts without a secret file that hangs, and reads the file once it responds`() throws {
    let stage = try Stage()
    let hung = try HungFile(stage.scratch.path + "/canary.token")
    try stage.start(try configuration(stage, "bearer: { file: canary.token }"))
    #expect(hung.waitForOpen())
    #expect(
      stage.log.contains(.credentialUnavailable, ["credential": "canary", "detail": .naming("canary.token")]),
      "it says which one, before it is ready")
    #expect(try token(stage, "second") == "SECOND-secret")
    #expect(try token(stage, "api") == nil)
    try stage.scratch.write("second.token", "SECOND-secret-1")
    #expect(try token(stage, "second") == "SECOND-secret-1")
    #expect(try stage.control("reload") == "ok\n2\n")
    #expect(try token(stage, "api") == nil)
    _ = hung.waitForOpen(within: 0)
    hung.release()
    #expect(try eventually { try token(stage, "api") == stage.canary })
    #expect(stage.daemon!.stop() == 0)
    assertCanary(stage)
  }

  @Test func `T55: the daemon starts without files in a hanging directory, and reads them once it responds`() throws {
    let stage = try Stage()
    let path = stage.scratch.path + "/gone"
    let program =
      "\n  tool: { origins: [\"\(stage.origin)\"], bearer: { command: [\(path)/tool], timeout: 1s } }\nservices:\n"
    try withExtendedLifetime(HungDirectory(path)) {
      try stage.start(
        try configuration(
          stage, "bearer: { file: gone/token }"
        ).replacing(
          "\nservices:\n",
          with: program + "  tool: { upstream: \(stage.origin)/base/, ca_file: ca.pem, credential: tool }\n"))
      for file in ["token", "tool"] {
        let detail: LoggedField = .naming("\(path)/\(file)")
        #expect(stage.log.contains(.configuration, ["level": "warning", "detail": detail]))
      }
      #expect(try token(stage, "second") == "SECOND-secret")
      #expect(try token(stage, "api") == nil)
      #expect(try token(stage, "tool") == nil)
      for generation in 2...4 { #expect(try stage.control("reload") == "ok\n\(generation)\n") }
      #expect(try token(stage, "second") == "SECOND-secret")
    }
    try stage.scratch.write("gone/token", stage.canary)
    try stage.scratch.write("gone/tool", "#!/bin/sh\necho TOOL-secret\n", mode: 0o700)
    #expect(try eventually(seconds: 30) { try token(stage, "api") == stage.canary })
    #expect(try eventually(seconds: 30) { try token(stage, "tool") == "TOOL-secret" })
    assertCanary(stage)
  }

  @Test func `T55, T44: a secret from a hanging directory is not used while other users can replace its file`()
    throws
  {
    let stage = try Stage()
    let open = stage.scratch.path + "/open"
    #expect(mkdir(open, 0o700) == 0 && chmod(open, 0o777) == 0)
    try withExtendedLifetime(HungDirectory(open + "/gone")) {
      try stage.start(try configuration(stage, "bearer: { file: open/gone/token }"))
      #expect(try token(stage, "api") == nil)
    }
    try stage.scratch.write("open/gone/token", stage.canary)
    #expect(stage.log.wait(for: .credentialUnavailable, ["detail": .naming("\(open) ", "0777", "\(open)/gone/token")]))
    #expect(try token(stage, "api") == nil)
    #expect(try stage.control("reload").hasPrefix("ok\n"))
    #expect(try token(stage, "api") == nil)
    #expect(chmod(open, 0o755) == 0)
    #expect(try stage.control("reload").hasPrefix("ok\n"))
    #expect(try token(stage, "api") == stage.canary)
    assertCanary(stage)
  }

  @Test func `T55: many files that hang delay neither the start nor a change of another file`() throws {
    let stage = try Stage()
    let many = (0..<80).map { "many/c\($0)" }
    for name in many { try stage.scratch.write(name, "MANY-secret") }
    let text = try configuration(stage, "bearer: { file: canary.token }", more: many)
    let hung = try HungFile(stage.scratch.path + "/many", hasFiles: true)
    try stage.start(text)
    #expect(hung.waitForOpen())
    for round in 1...20 {
      try stage.scratch.write("second.token", "SECOND-secret-\(round)")
      #expect(try token(stage, "second") == "SECOND-secret-\(round)")
    }
    #expect(try token(stage, "api") == stage.canary)
    #expect(try token(stage, "c79") == nil)
    let threads = { try FileManager.default.contentsOfDirectory(atPath: "/proc/\(stage.daemon!.pid)/task").count }
    #expect(try threads() > 80, "they do hang")
    hung.release()
    #expect(try eventually { try token(stage, "c79") == "MANY-secret" })
    #expect(try eventually { try threads() < 20 })
    assertCanary(stage)
  }

  @Test func `T55: a start whose CA file hangs fails and names the file`() throws {
    let stage = try Stage()
    let path = stage.scratch.path + "/gone"
    try withExtendedLifetime(HungDirectory(path)) {
      let run = try stage.fail(
        stage.configuration().replacing("ca_file: ca.pem", with: "ca_file: gone/ca.pem"), within: 60)
      #expect(run.status == 71)
      #expect(run.errors.contains("a file system does not respond: \(path)/ca.pem is still being read after 20 s"))
    }
    stage.assertCanary(times: 0)
  }
}
