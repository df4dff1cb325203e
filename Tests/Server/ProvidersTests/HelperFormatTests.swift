import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// Programs that print secrets in the formats of git, Kubernetes and Docker (T42).
@Suite(.inProcess) struct HelperFormatTests {
  private static let unauthorized = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno"
  private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
  private let stage: Stage
  private var path: String { stage.scratch.path }

  /// The upstream rejects requests that contain `WRONG`, in Base64 or as text.
  init() throws {
    stage = try Stage(
      handler: UpstreamServer.httpHandler { request in
        let isWrong =
          request.text.contains("WRONG") || request.text.contains(Data("me:WRONG-".utf8).base64EncodedString())
        return Array((isWrong ? Self.unauthorized : Self.ok).utf8)
      })
  }

  private func notes(_ name: String) -> String {
    let bytes = FileHandle(forReadingAtPath: "\(path)/\(name)")?.readDataToEndOfFile() ?? Data()
    return String(decoding: bytes, as: UTF8.self)
  }

  /// A script that appends its arguments and its input to the file `calls`, and then prints the file `answer`.
  private func helper(_ script: String = "cat HERE/answer") throws -> String {
    let text = "#!/bin/sh\necho \"call $*\" >> HERE/calls\ncat >> HERE/calls\necho >> HERE/calls\n\(script)\n"
    return try stage.scratch.write("helper", text.replacing("HERE", with: path), mode: 0o700)
  }

  private func basic(_ words: [String], _ options: String) -> String {
    stage.configuration(
      credential: "basic: { password: { command: [\(words.joined(separator: ", "))], \(options) } }\n    suspend: off")
  }

  private func bearer(_ words: [String], _ options: String) -> String {
    stage.configuration(
      credential: "bearer: { command: [\(words.joined(separator: ", "))], \(options) }\n    suspend: off")
  }

  private func line(_ password: String) -> String {
    "Authorization: Basic \(Data("me:\(password)".utf8).base64EncodedString())\r\n"
  }

  // MARK: git

  /// Runs git with this input, and returns the output.
  @discardableResult
  private func git(_ words: [String], _ input: String) throws -> String {
    try stage.scratch.write("input", input)
    let command = (["/usr/bin/git"] + words).map { "'\($0)'" }.joined(separator: " ")
    let result = try run(["/usr/bin/env", "HOME=\(path)", "/bin/sh", "-c", "\(command) < \(path)/input"])
    #expect(result.status == 0, "\(result)")
    return result.output
  }

  private func described(_ password: String) -> String {
    "protocol=https\nhost=git.example.com\nusername=me\npassword=\(password)\n\n"
  }

  @Test func `T42: a password of git credential-store is sent, and is erased after a rejection`() throws {
    let store = ["credential-store", "--file=\(path)/store"]
    try git(store + ["store"], described(stage.canary))
    try stage.start(
      basic(["/usr/bin/git"] + store, "format: git-credential, url: https://git.example.com, ttl: 1s"))
    #expect(try stage.get().status == 200)
    stage.assertCanary(times: 1, as: line(stage.canary))

    try git(store + ["erase"], "protocol=https\nhost=git.example.com\n\n")
    try git(store + ["store"], described("WRONG-password"))
    #expect(stage.waitForSecret(version: 2))
    #expect(try stage.get().status == 401)
    #expect(stage.log.wait(for: .credentialUnavailable))
    #expect(eventually { notes("store").isEmpty }, "\(notes("store"))")
    #expect(try eventually { try stage.get().status == 503 })
    let detail: LoggedField = .naming("/usr/bin/git", "https://git.example.com")
    #expect(stage.log.wait(for: .credentialUnavailable, ["detail": detail]))

    try git(store + ["store"], described(stage.canary))
    #expect(try eventually { try stage.get().status == 200 })
    stage.assertCanary(times: 2, as: line(stage.canary))
  }

  @Test func `T42: a password of git credential-cache is sent, and is erased after a rejection`() throws {
    // The path of a socket must be short.
    let directory = "/tmp/bc\(getpid())"
    #expect(mkdir(directory, 0o700) == 0)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let cache = ["credential-cache", "--socket=\(directory)/s"]
    try git(cache + ["store"], described(stage.canary))
    defer { _ = try? git(cache + ["exit"], "") }
    try stage.start(
      basic(["/usr/bin/git"] + cache, "format: git-credential, url: https://git.example.com, ttl: 1s"))
    #expect(try stage.get().status == 200)
    stage.assertCanary(times: 1, as: line(stage.canary))
    try git(cache + ["store"], described("WRONG-password"))
    #expect(stage.waitForSecret(version: 2))
    #expect(try stage.get().status == 401)
    let query = "protocol=https\nhost=git.example.com\n\n"
    #expect(try eventually { try git(cache + ["get"], query).isEmpty })
    stage.assertCanary(times: 1, as: line(stage.canary))
  }

  @Test(arguments: [1, 3])
  func `T42: a rejected value is erased once, and is not requested again if the program repeats it`(
    _ workers: Int
  ) throws {
    try stage.scratch.write("answer", "username=me\npassword=WRONG-1\n")
    try stage.start(
      basic([helper(), "word"], "format: git-credential, url: https://git.example.com/team/x, ttl: none")
        + "\nworkers: \(workers)\n")
    for _ in 0..<6 { #expect(try stage.get().status == 401) }
    let query = "protocol=https\nhost=git.example.com\npath=team/x\n"
    let erased = "call word erase\n\(query)username=me\npassword=WRONG-1\n\n\n"
    let calls = "call word get\n\(query)\n\n\(erased)call word get\n\(query)\n\n"
    #expect(eventually { notes("calls") == calls }, "\(notes("calls"))")
    for _ in 0..<6 { #expect(try stage.get().status == 401) }
    #expect(notes("calls") == calls)
    #expect(stage.log.lines(of: .commandValueRejected, ["program": "\(path)/helper"]).count == 1)
    stage.assertCanary(times: 0)
  }

  @Test func `T42: the next request after a rejection uses the program's new value`() throws {
    try stage.scratch.write("answer", "username=me\npassword=WRONG-1\n")
    try stage.scratch.write("next", "username=me\npassword=\(stage.canary)\n")
    let file = try helper("test \"$1\" = erase && mv HERE/next HERE/answer; test \"$1\" = get && cat HERE/answer")
    try stage.start(basic([file], "format: git-credential, ttl: none"))
    #expect(try stage.get().status == 401)
    #expect(stage.log.wait(for: .commandValueRejected))
    #expect(try stage.get().status == 200)
    stage.assertCanary(times: 1, as: line(stage.canary))
  }

  @Test func `a program with store: true is notified once that its value was accepted`() throws {
    try stage.scratch.write("answer", "username=me\npassword=\(stage.canary)\n")
    try stage.start(basic([helper()], "format: git-credential, username: me, ttl: none, store: true"))
    for _ in 0..<3 { #expect(try stage.get().status == 200) }
    let query = "protocol=https\nhost=\(stage.origin.dropFirst(8))\nusername=me\n"
    let stored = "call store\n\(query)username=me\npassword=\(stage.canary)\n\n\n"
    #expect(eventually { notes("calls") == "call get\n\(query)\n\n\(stored)" }, "\(notes("calls"))")
    #expect(stage.log.contains(.commandNotTold) == false)
    stage.assertCanary(times: 3, as: line(stage.canary))
  }

  @Test func `T42: a value is used until the end that the program prints, and an expired value is not used`() throws {
    let end = Int(Date().timeIntervalSince1970) + 4
    try stage.scratch.write("answer", "password=\(stage.canary)\npassword_expiry_utc=\(end)\n")
    try stage.start(bearer([helper()], "format: git-credential, ttl: 1h"))
    #expect(try stage.get().status == 200)
    #expect(
      stage.log.wait(for: .credentialUnavailable, ["credential": "canary", "credential_generation": 1]),
      "\(stage.log)")
    let now = Int(Date().timeIntervalSince1970)
    #expect(now >= end - 1)
    #expect(try stage.get().status == 503)
    // The first event reports the expiry, the second one that the program has no newer value.
    #expect(stage.log.wait(for: .credentialUnavailable, ["detail": .naming("\(path)/helper")], count: 2))
    #expect(stage.log.lines(of: .credentialChanged).count == 1)
    #expect(notes("calls").contains("capability[]=authtype\nprotocol=https\n"))
    stage.assertCanary(times: 1)
  }

  @Test(arguments: [
    "password=CANARY-x\\r", "host=evil.example.com\\npassword=CANARY-x", "quit=1\\npassword=CANARY-x",
  ])
  func `T42: program output for another host, or with invalid lines, is not used`(output: String) throws {
    try stage.start(basic([helper("printf 'username=me\\n\(output)\\n'")], "format: git-credential"))
    #expect(stage.log.wait(for: .credentialUnavailable, ["detail": .naming("\(path)/helper")]), "\(stage.log)")
    #expect(try stage.get().status == 503)
    #expect(stage.upstream.records.isEmpty && stage.log.hides("CANARY"))
    stage.assertCanary(times: 0)
  }

  // MARK: Kubernetes, docker

  @Test func `the token of a kubectl plugin is sent, and the plugin runs again after a rejection`() throws {
    let version = "client.authentication.k8s.io/v1"
    let output = #"{"apiVersion":"\#(version)","kind":"ExecCredential","status":{"token":"TOKEN"}}"#
    try stage.scratch.write("answer", output.replacing("TOKEN", with: "WRONG-1"))
    try stage.scratch.write("next", output.replacing("TOKEN", with: stage.canary))
    let file = try helper(
      "echo \"$KUBERNETES_EXEC_INFO\" > HERE/info; cat HERE/answer; test -e HERE/next && mv HERE/next HERE/answer; true"
    )
    try stage.start(bearer([file, "token"], "format: exec-credential"))
    #expect(try stage.get().status == 401)
    #expect(stage.log.wait(for: .commandValueRejected))
    #expect(try stage.get().status == 200)
    #expect(notes("calls") == "call token\n\ncall token\n\n")
    let info = try JSONSerialization.jsonObject(with: Data(notes("info").utf8)) as? [String: Any]
    #expect(info?["apiVersion"] as? String == version && info?["kind"] as? String == "ExecCredential")
    #expect((info?["spec"] as? [String: Any])?["interactive"] as? Bool == false)
    stage.assertCanary(times: 1)
  }

  @Test func `a Docker credential helper gets its server, and provides user and password in one run`() throws {
    try stage.scratch.write("answer", #"{"ServerURL":"r","Username":"me","Secret":"\#(stage.canary)"}"#)
    try stage.start(basic([helper()], "format: docker-credential, server: https://index.docker.io/v1/"))
    #expect(try stage.get().status == 200)
    #expect(notes("calls") == "call get\nhttps://index.docker.io/v1/\n")
    stage.assertCanary(times: 1, as: line(stage.canary))
  }

  @Test func `T42: an identity token from a Docker credential helper is not used as a password`() throws {
    try stage.scratch.write("answer", #"{"ServerURL":"r","Username":"<token>","Secret":"\#(stage.canary)"}"#)
    try stage.start(
      basic([helper()], "format: docker-credential").replacing("password:", with: "user: me, password:"))
    #expect(stage.log.wait(for: .credentialUnavailable, ["detail": .naming("\(path)/helper")]), "\(stage.log)")
    #expect(try stage.get().status == 503)
    stage.assertCanary(times: 0)
  }
}
