import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// With `require_locked_memory: true`, every secret is in locked memory, at the start and later (T50).
@Suite(.waits, .enabled(if: !isSanitized, "a sanitizer locks nothing, and says it did"))
struct SecretsStayInLockedMemory {
  /// Limits locked memory to an amount that suffices for the start, but not for a value of sixteen pages.
  private static let limited =
    (isRoot ? ["/usr/bin/setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock"] : [])
    + ["/usr/bin/prlimit", "--memlock=114688"]
  private static let large = String(repeating: "L", count: 40_000)

  @Test func `T50: values that do not fit into locked memory are refused, and old values stay in use`() throws {
    let (stage, scratch) = (try Stage(), try Scratch())
    let helper = try scratch.write(
      "helper", "#!/bin/sh\nhead -c 40000 /dev/zero | tr '\\0' L\n", mode: 0o700)
    func text(_ file: String) -> String {
      stage.configuration(
        credential: "bearer: { file: \(file) }", more: "require_locked_memory: true",
        services: "  printed: { upstream: \"\(stage.origin)/\", ca_file: ca.pem, credential: printed }"
      ).replacing(
        "\nservices:\n",
        with: "\n  printed: { origins: [\"\(stage.origin)\"], bearer: { command: [\(helper)] } }\nservices:\n")
    }
    try stage.start(text("canary.token"), wrapper: Self.limited)
    #expect(try stage.get().status == 200)
    // The output of a program.
    let printed = try stage.get("/printed/x")
    #expect(printed.status == 503 && printed.text.contains("error:credential-unavailable\""))
    #expect(
      stage.log.wait(
        for: .credentialUnavailable, ["credential": "printed", "detail": .naming("LimitMEMLOCK=")]))
    // A new value of a file.
    try stage.scratch.write("canary.token", Self.large)
    let fields: [String: LoggedField] = ["credential_generation": 1, "detail": .naming("LimitMEMLOCK=")]
    #expect(stage.log.wait(for: .credentialUnusable, fields.merging(["credential": "canary"]) { $1 }))
    #expect(try stage.get().status == 200)
    // A reload with another file.
    try stage.scratch.write("large.token", Self.large)
    try stage.reload(text("large.token"))
    #expect(stage.log.wait(for: .reloadFailed))
    #expect(try stage.get().status == 200)
    stage.assertCanary(times: 3)
    // A value that fits is used.
    try stage.scratch.write("canary.token", "SMALL-secret")
    #expect(stage.log.wait(for: .credentialChanged, ["credential": "canary", "credential_generation": 2]))
    #expect(try stage.get().status == 200)
    stage.assertCanary(times: 1, secret: "SMALL-secret")
  }

  @Test func `T50: hundreds of rotations lock no additional memory, and the old values are wiped`() throws {
    let stage = try Stage()
    let daemon = try stage.start()
    let client = try stage.client()
    func rotate(_ rounds: Range<Int>) throws {
      for round in rounds {
        try stage.scratch.write("canary.token", "ROTATED-\(round)-" + String(repeating: "x", count: round * 37 % 3_000))
        try client.send(stage.head("GET"))
        #expect(try client.response().status == 200)
      }
    }
    try rotate(0..<200)
    let locked = Observed(pid: daemon.pid).locked
    try rotate(200..<500)
    // The tolerance is for pages of a read in progress.
    #expect(Observed(pid: daemon.pid).locked < locked + 64)
    if isRoot {
      for round in [0, 199, 450] {
        #expect(
          try ForeignMemory.mappings(containing: "ROTATED-\(round)-", in: daemon.pid, includesSecrets: true) == [])
      }
    }
    stage.assertCanary(times: 0)
  }

  @Test func `without require_locked_memory, a value that does not fit is used`() throws {
    let stage = try Stage()
    try stage.start(wrapper: Self.limited)
    try stage.scratch.write("canary.token", Self.large)
    #expect(stage.log.wait(for: .credentialChanged, ["credential": "canary", "credential_generation": 2]))
    #expect(try stage.get().status == 200)
    stage.assertCanary(times: 1, secret: Self.large)
  }

  @Test(.enabled(if: isRoot && !isSanitized, "only root sees the memory of others"))
  func `T34: session cookie and password are only in memory for secrets`() throws {
    let stage = try CouchStage()
    let next = "FRESH-" + UUID().uuidString
    stage.state.withLock {
      $0.good = [next]
      $0.fields = "Set-Cookie: AuthSession=\(next); Path=/\r\n"
    }
    let daemon = try stage.stage.start(stage.configuration())
    #expect(
      eventually {
        (try? stage.stage.get().status) == 200 && stage.requests.last?.contains("AuthSession=\(next)") == true
      })
    #expect(try ForeignMemory.mappings(containing: stage.stage.scratch.path, in: daemon.pid) != [], "it can be seen")
    #expect(try ForeignMemory.mappings(containing: stage.stage.canary, in: daemon.pid) == [])
    #expect(try ForeignMemory.mappings(containing: next, in: daemon.pid) == [])
    #expect(try ForeignMemory.mappings(containing: stage.state.withLock(\.password), in: daemon.pid) == [])
  }
}
