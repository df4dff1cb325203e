import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A changed secret is used by the next request, also on an open connection. An unusable secret is never sent.
@Suite(.inProcess) struct ChangedSecretsAreReread {
  @Test func `T44: a secret that is renamed into place is used by the next request of the same connection`() throws {
    let stage = try Stage()
    try stage.start()
    let caller = try PersistentClient(stage)
    #expect(try caller.get().status == 200)
    for generation in 2...5 {
      try stage.scratch.write("canary.token", "NEW-\(generation)-secret\n")
      #expect(stage.waitForSecret(version: generation))
      #expect(try caller.get().status == 200)
      #expect(stage.lastToken == "NEW-\(generation)-secret")
    }
    #expect(stage.upstream.records.count == 1, "nor does the upstream's connection end")
    stage.assertCanary(times: 1)
    stage.assertCanary(times: 1, secret: "NEW-5-secret")
  }

  @Test func `T44: after many quick changes the last value is used`() throws {
    let stage = try Stage()
    try stage.start()
    for round in 0..<10 {
      for index in 0..<40 { try stage.scratch.write("canary.token", "R\(round)-\(index)-secret") }
      let caller = try PersistentClient(stage)
      #expect(
        try eventually {
          _ = try caller.get()
          return stage.lastToken == "R\(round)-39-secret"
        })
    }
    stage.assertCanary(times: 0)
  }

  @Test func `T44: a secret that Kubernetes replaces by swapping a symbolic link is used`() throws {
    let stage = try Stage()
    let path = stage.scratch.path
    func publish(_ version: String, _ secret: String) throws {
      #expect(mkdir("\(path)/\(version)", 0o700) == 0)
      try stage.scratch.write("\(version)/token", secret)
      #expect(symlink(version, "\(path)/..data_tmp") == 0)
      #expect(rename("\(path)/..data_tmp", "\(path)/..data") == 0)
    }
    try publish("..v1", stage.canary)
    #expect(symlink("..data/token", "\(path)/mounted.token") == 0)
    try stage.start(stage.configuration(credential: "bearer: { file: mounted.token }"))
    let caller = try PersistentClient(stage)
    #expect(try caller.get().status == 200)
    for generation in 2...4 {
      try publish("..v\(generation)", "SWAPPED-\(generation)")
      #expect(stage.waitForSecret(version: generation))
      #expect(try caller.get().status == 200)
      #expect(stage.lastToken == "SWAPPED-\(generation)")
    }
    stage.assertCanary(times: 1)
  }

  @Test func `T44: a half-written secret is not sent, even if another secret changes`() throws {
    let stage = try Stage()
    try stage.scratch.write("second.token", "SECOND-secret")
    try stage.start(stage.withSecondCredential())
    let caller = try PersistentClient(stage)
    let file = open(stage.scratch.path + "/canary.token", O_WRONLY | O_TRUNC | O_CLOEXEC)
    #expect(write(file, "HALF", 4) == 4)
    // Once this change has been noticed, all earlier changes have been noticed.
    try stage.scratch.write("second.token", "SECOND-secret-2")
    #expect(stage.waitForSecret(version: 2, of: "second"))
    #expect(try caller.get("/second/x").status == 200)
    #expect(try caller.get().status == 200)
    #expect(stage.lastToken == stage.canary)
    #expect(write(file, "-WHOLE\n", 7) == 7)
    close(file)
    #expect(stage.waitForSecret(version: 2))
    #expect(try caller.get().status == 200)
    #expect(stage.lastToken == "HALF-WHOLE")
    stage.assertCanary(times: 1)
  }

  @Test func `T44: an unusable new value is logged, and the previous value stays in use`() throws {
    let stage = try Stage()
    try stage.start()
    let caller = try PersistentClient(stage)
    try stage.scratch.write("canary.token", "two\nlines")
    let expectedFields: [String: LoggedField] = ["credential": "canary", "detail": .naming("canary.token")]
    #expect(stage.log.wait(for: .credentialUnusable, expectedFields))
    #expect(try caller.get().status == 200)
    try stage.scratch.write("canary.token", "")
    #expect(stage.log.wait(for: .credentialUnusable, expectedFields, count: 2))
    #expect(try caller.get().status == 200)
    stage.assertCanary(times: 2)
  }

  @Test func `T40: requests get 503 while the secret file is missing, at the start and after a deletion`() throws {
    let stage = try Stage()
    let file = stage.scratch.path + "/late.token"
    try stage.start(stage.configuration(credential: "bearer: { file: late.token }"))
    #expect(stage.log.contains(.credentialUnavailable, ["credential": "canary"]))
    let caller = try PersistentClient(stage)
    let refused = try caller.get()
    #expect(refused.status == 503 && refused.text.contains("urn:bearerd:error:credential-unavailable"))
    #expect(stage.upstream.records.isEmpty)
    try stage.scratch.write("late.token", stage.canary)
    #expect(stage.waitForSecret(version: 1))
    #expect(try caller.get().status == 200)
    #expect(unlink(file) == 0)
    #expect(try eventually { try caller.get().status == 503 })
    try stage.scratch.write("late.token", stage.canary)
    #expect(try eventually { try caller.get().status == 200 })
    stage.assertCanary(times: stage.recorded.components(separatedBy: stage.canary).count - 1)
  }

  @Test func `T40 T43: a file without a valid secret leads to 503, and nothing is sent`() throws {
    let rows: [(String, [UInt8])] = [
      ("empty", []), ("a line break", [10]), ("CRLF", [13, 10]), ("two lines", Array("a\nb".utf8)),
      ("a header", Array("a\r\nX-Evil: 1".utf8)), ("CR", Array("a\rb".utf8)), ("NUL", Array("a\0b".utf8)),
      ("NUL at the end", Array("a\0".utf8)), ("not ASCII", Array("caf\u{E9}".utf8)), ("Latin-1", [0x61, 0xE9]),
      ("BOM", [0xEF, 0xBB, 0xBF] + Array("abc".utf8)), ("UTF-16", [0xFF, 0xFE, 0x61, 0]),
      ("blank", Array("a b".utf8)), ("tab", Array("a\tb".utf8)), ("DEL", [0x61, 0x7F]),
      ("two line breaks", Array("a\n\n".utf8)), ("100 KB", Array(repeating: 0x61, count: 100_000)),
    ]
    let stage = try Stage()
    try stage.scratch.write("canary.token", "x")
    try unlinkSecret(stage)
    try stage.start()
    let caller = try PersistentClient(stage)
    for (name, bytes) in rows {
      try Data(bytes).write(to: URL(fileURLWithPath: stage.scratch.path + "/next"))
      chmod(stage.scratch.path + "/next", 0o600)
      #expect(rename(stage.scratch.path + "/next", stage.scratch.path + "/canary.token") == 0)
      #expect(
        try eventually {
          let response = try caller.get()
          return response.status == 503 && response.text.contains("credential-unavailable")
        }, "\(name)")
    }
    try stage.scratch.write("canary.token", stage.canary)
    #expect(stage.waitForSecret(version: 1))
    #expect(try caller.get().status == 200)
    #expect(!stage.recorded.contains("Evil"))
    stage.assertCanary(times: 1)
  }

  private func unlinkSecret(_ stage: Stage) throws {
    #expect(unlink(stage.scratch.path + "/canary.token") == 0)
  }

  @Test func `T44: a secret that other users can read is refused, and the log names the chmod command`() throws {
    let stage = try Stage()
    for mode in [0o644, 0o604, 0o666, 0o620] as [mode_t] {
      try stage.scratch.write("canary.token", stage.canary, mode: mode)
      let daemon = try stage.start()
      #expect(try stage.get().text.contains("urn:bearerd:error:credential-unavailable"), "\(mode)")
      let file: LoggedField = .naming("canary.token", "0" + String(mode, radix: 8))
      #expect(daemon.log.contains(.configuration, ["level": "warning", "detail": file]), "\(mode)")
      let expectedDetail: LoggedField = .naming("chmod 06", "canary.token")
      #expect(daemon.log.contains(.credentialUnavailable, ["detail": expectedDetail]), "\(mode)")
      #expect(daemon.stop() == 0)
    }
    #expect(stage.upstream.records.isEmpty)
    stage.assertCanary(times: 0)
  }

  @Test func `T44: a new value that other users can read is not used`() throws {
    let stage = try Stage()
    try stage.start()
    let caller = try PersistentClient(stage)
    try stage.scratch.write("canary.token", "EXPOSED-secret", mode: 0o644)
    #expect(stage.log.wait(for: .credentialUnusable, ["detail": .naming("chmod 06")]))
    _ = try caller.get()
    #expect(!stage.recorded.contains("EXPOSED"))
    stage.assertCanary(times: 1)
  }

  @Test func `T44: a request right after a rename never has the old value`() throws {
    let stage = try Stage()
    try stage.start()
    let caller = try PersistentClient(stage)
    let rounds = 1_500
    // All files are written first, so that a request follows the rename immediately.
    for round in 0..<rounds { try stage.scratch.write("next/\(round)", "ROUND-\(round)-secret") }
    let (next, secretFile) = (stage.scratch.path + "/next/", stage.scratch.path + "/canary.token")
    for round in 0..<rounds {
      #expect(rename(next + "\(round)", secretFile) == 0)
      #expect(try caller.get("/api/\(round)").status == 200)
    }
    let seen = stage.recorded.components(separatedBy: "GET /base/").dropFirst()
    #expect(seen.count == rounds)
    let old = seen.filter { request in
      !request.contains("Authorization: Bearer ROUND-\(request.prefix { $0.isNumber })-secret\r\n")
    }
    #expect(old.isEmpty, "\(old.count) of \(rounds): \(old.first ?? "")")
    stage.assertCanary(times: 0)
  }

  @Test func `T44: replacing a parent directory changes the secret, and the new directory is watched`() throws {
    let stage = try Stage()
    try stage.scratch.write("above/here/token", stage.canary)
    try stage.start(stage.configuration(credential: "bearer: { file: above/here/token }"))
    let caller = try PersistentClient(stage)
    #expect(try caller.get().status == 200)
    try stage.scratch.write("other/here/token", "NEW-secret")
    for (from, to) in [("above", "before"), ("other", "above")] {
      #expect(rename(stage.scratch.path + "/" + from, stage.scratch.path + "/" + to) == 0)
    }
    #expect(try stage.control("look again") == "ok\n")
    #expect(try caller.get().status == 200)
    #expect(stage.lastToken == "NEW-secret")
    // The new directory is watched.
    try stage.scratch.write("above/here/token", "NEXT-secret")
    #expect(stage.waitForSecret(version: 3))
    stage.assertCanary(times: 1)
  }

  @Test func `T44: user and password from two files always belong together, during swaps and reloads`()
    throws
  {
    let stage = try Stage()
    for value in 0...1 {
      try stage.scratch.write("value\(value)/user", "user\(value)")
      try stage.scratch.write("value\(value)/password", "password\(value)")
    }
    let link = stage.scratch.path + "/value"
    #expect(symlink("value0", link) == 0)
    let credential = "basic: { user: { file: value/user }, password: { file: value/password } }"
    try stage.start(stage.configuration(credential: credential))
    let caller = try PersistentClient(stage)
    let (gate, stop) = (Gate(), Gate())
    Thread.detachNewThread {
      for turn in 1... where gate.pass(seconds: 60) {
        if stop.pass(seconds: 0) { return }
        symlink("value\(turn % 2)", link + ".new")
        rename(link + ".new", link)
      }
    }
    for round in 0..<400 {
      gate.open(times: 3)
      if round % 4 == 0 { stage.daemon!.beginReload() }
      #expect(try caller.get().status == 200)
    }
    stop.open()
    gate.open()
    let sent = stage.recorded.components(separatedBy: "Authorization: Basic ").dropFirst().map { text in
      String(decoding: Data(base64Encoded: String(text.prefix { $0 != "\r\n" })) ?? Data(), as: UTF8.self)
    }
    #expect(sent.count == 400 && sent.allSatisfy(["user0:password0", "user1:password1"].contains), "\(Set(sent))")
    stage.assertCanary(times: 0)
  }

  @Test func `T20: a secret that looks like a template is sent unchanged`() throws {
    let stage = try Stage()
    let secret = "A{{second}}B${HOME}$(id)%s%2F\\n{file:x}"
    try stage.scratch.write("canary.token", secret)
    // `bearer` does not allow these characters.
    let field = "headers: [{ name: Authorization, prefix: \"Bearer \", value: { file: canary.token } }]"
    try stage.start(stage.configuration(credential: field))
    #expect(try stage.get().status == 200)
    #expect(stage.lastToken == secret)
    stage.assertCanary(times: 0)
    stage.assertCanary(times: 1, secret: secret)
  }

  @Test func `T43: Basic encodes user and password byte for byte`() throws {
    let rows: [(String, String, String?)] = [
      ("Aladdin", "open sesame", "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="), ("test", "123£", "dGVzdDoxMjPCow=="),
      ("user", "p@ss:w/ord", "dXNlcjpwQHNzOncvb3Jk"), ("ü", "ß", "w7w6w58="), ("u", " p ", "dTogcCA="),
      ("u", "a%40b", "dTphJTQwYg=="), ("u", "😀", "dTrwn5iA"),
    ]
    let odd = ["/", ":", "@", "#", "?", "%", "+", "&", "=", " ", "\"", "'", "\\", "é", "😀", "%2F", "%252F", "{", "|"]
    let all = rows + odd.map { ("u", "a\($0)b", nil) } + [("u", String(repeating: "x", count: 4_094), nil)]
    let stage = try Stage()
    let names = all.indices.map { "c\($0)" }
    for (index, row) in all.enumerated() { try stage.scratch.write("c\(index).password", row.1 + "\n") }
    let credentials = all.enumerated().map { index, row in
      """
        c\(index):
          origins: ["\(stage.origin)"]
          basic: { user: "\(row.0)", password: { file: c\(index).password } }
      """
    }
    let services = names.map { name in
      """
        \(name):
          upstream: \(stage.origin)/\(name)/
          ca_file: ca.pem
          credential: \(name)
      """
    }
    try stage.start(
      """
      listeners: { main: { address: localhost:0, allow_users: [\(getuid())] } }
      credentials:
      \(credentials.joined(separator: "\n"))
      services:
      \(services.joined(separator: "\n"))
      """)
    let caller = try PersistentClient(stage)
    for (index, row) in all.enumerated() {
      #expect(try caller.get("/c\(index)/x").status == 200, "\(row)")
      let record = stage.recorded.components(separatedBy: "GET /c\(index)/x ").last ?? ""
      let value =
        record.components(separatedBy: "Authorization: Basic ").last?.components(separatedBy: "\r\n").first ?? ""
      #expect(Data(base64Encoded: value) == Data("\(row.0):\(row.1)".utf8), "\(row)")
      if let wanted = row.2 { #expect(value == wanted) }
    }
    stage.assertCanary(times: 0)
  }

  @Test func `T43: a Basic user name with a colon is a configuration error`() throws {
    let stage = try Stage()
    let result = try stage.fail(
      stage.configuration(credential: "basic: { user: \"a:b\", password: { file: canary.token } }"))
    #expect(result.status == 2 && result.errors.contains("colon"))
    stage.assertCanary(times: 0)
  }

  @Test func `T40: a credential of several header fields is sent completely or not at all`() throws {
    let stage = try Stage()
    try stage.start(
      stage.configuration(
        credential: """
          headers:
                - { name: X-Api-Key, prefix: "Key ", value: { file: canary.token } }
                - { name: X-Application, value: { file: application } }
                - { name: X-Organization, value: acme }
          """))
    #expect(try stage.get(fields: "x_api_key: evil\r\nX-Organization: evil\r\n").status == 503)
    #expect(stage.upstream.records.isEmpty)
    try stage.scratch.write("application", "APPLICATION-secret")
    #expect(stage.waitForSecret(version: 1))
    #expect(try stage.get(fields: "x_api_key: evil\r\nX-Organization: evil\r\n").status == 200)
    #expect(!stage.recorded.contains("evil"))
    #expect(stage.recorded.contains("X-Application: APPLICATION-secret\r\nX-Organization: acme\r\n"))
    stage.assertCanary(times: 1, as: "X-Api-Key: Key \(stage.canary)\r\n")
  }
}
