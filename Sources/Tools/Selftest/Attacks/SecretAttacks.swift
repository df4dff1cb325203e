internal import Console
internal import TestServer
internal import Glibc
internal import System

/// Attacks on the places where a secret could be seen, and requests without one.
enum SecretAttacks {
  static let all = [
    Attack(40, "nothing to inject", missing), Attack(48, "the secret in answers and logs", leaks),
    Attack(49, "the process laid open", process),
  ]

  private static func missing(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    guard !stage.injecting.isEmpty else { return .notApplicable("no credential is added") }
    for target in stage.injecting {
      let files = stage.canaries.filter { $0.credential == target.grant }
      for canary in files { unlink("\(stage.directory.path)/\(canary.file)") }
      // The daemon watches the directory: it takes a moment.
      let isMissing = try settle(stage, target, on: 503)
      let before = stage.servers.script.count
      for _ in 0..<3 { try stage.refuse(target.request(), to: target, "its file removed", [503], &tally) }
      if !isMissing {
        tally.check(false, "\(target.name): its file removed", seen: "it is still used", expected: "503")
      }
      tally.check(
        stage.servers.script.count == before, "\(target.name): its file removed", seen: "a request without it",
        expected: "nothing sent")
      for canary in files { try stage.directory.write(canary.file, canary.secret + "\n") }
      let isBack = try settle(stage, target, on: 200)
      tally.check(isBack, "\(target.name): its file is back", seen: "still 503", expected: "200")
    }
    return tally.outcome("503 and nothing sent, as long as its file is missing")
  }

  /// Asks until the answer has this status; false: it did not come to that in ten seconds.
  private static func settle(_ stage: SelftestStage, _ target: Target, on status: Int) throws -> Bool {
    let deadline = Clock.monotonicMicroseconds + 10_000_000
    while Clock.monotonicMicroseconds < deadline {
      if try stage.send(target.request(), to: target).status == status { return true }
      usleep(10_000)
    }
    return false
  }

  private static func leaks(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    for target in stage.targets {
      for word in ["%0alevel=error%20event=forged", "%1b%5b31m", "\u{1B}[31m", "\"x\"=y", "a\rb", "\u{E9}"] {
        _ = try stage.send(target.request(path: target.mount + word), to: target)
        _ = try stage.send(target.request(method: "FOO" + word), to: target)
      }
    }
    try stage.daemon.drain()
    let answers = String(decoding: stage.received, as: UTF8.self)
    let stray = (stage.servers.all + [stage.servers.evil]).flatMap { $0.server.records }.map {
      String(decoding: $0.bytes, as: UTF8.self)
    }
    for canary in stage.canaries {
      for form in canary.encodings {
        tally.check(
          !answers.contains(form.text), "what clients got", seen: "the secret, \(form.name)",
          expected: "not a trace of it")
        tally.check(
          !stage.daemon.text.contains(form.text), "the log", seen: "the secret, \(form.name)",
          expected: "not a trace of it")
      }
      // At the upstreams it stands in its one field, and nowhere else.
      for text in stray {
        let all = text.ranges(of: canary.secret).count
        let right = text.ranges(of: "\(canary.field): \(canary.value)\r\n").count
        if canary.value.contains(canary.secret), all != right {
          tally.check(
            false, "what upstreams got", seen: "the secret in another place", expected: "\(canary.field) alone")
        }
      }
    }
    let lines = stage.daemon.text.split(separator: "\n")
    let isClean = lines.allSatisfy { $0.hasPrefix("time=") && $0.utf8.allSatisfy { (0x20...0x7E).contains($0) } }
    tally.check(isClean, "the log", seen: "lines that are not bearerd's own", expected: "one line per event")
    guard !stage.canaries.isEmpty else { return .notApplicable("there is no credential") }
    return tally.outcome(
      "\(stage.received.count / 1024) KiB of answers and \(lines.count) lines of log, in \(stage.canaries[0].encodings.count) encodings"
    )
  }

  private static func process(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    let process = "/proc/\(stage.daemon.processID)"
    let limits = FileText.read("\(process)/limits") ?? ""
    let core = limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") }
    let isZero = core.map { $0.split(separator: " ").filter { $0 == "0" }.count == 2 } ?? false
    tally.check(isZero, "core files", seen: String(core ?? "no limit"), expected: "a limit of 0")
    let isRoot = Users.currentUID == 0
    for name in ["mem", "environ", "maps", "auxv"] where !isRoot {
      let isOpen = FileText.canBeRead("\(process)/\(name)")
      tally.check(!isOpen, "\(process)/\(name)", seen: "your user can read it", expected: "closed")
    }
    let shown = (FileText.read("\(process)/environ") ?? "") + (FileText.read("\(process)/cmdline") ?? "")
    tally.check(
      !stage.canaries.contains { shown.contains($0.secret) }, "its arguments and environment", seen: "the secret",
      expected: "not a trace of it")
    // Another one, since it does not survive it.
    let said = try stage.another { try $0.crash(with: SIGSEGV) }
    tally.check(said.isEmpty, "a crash", seen: "it printed \(said.utf8.count) bytes", expected: "silence")
    let who = isRoot ? "root can read everything" : "your other programs cannot read its memory"
    return tally.outcome("no core, a silent crash; \(who)")
  }
}

/// Files of /proc, and ours.
enum FileText {
  static func read(_ path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var all: [UInt8] = []
    var bytes = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = Glibc.read(descriptor, &bytes, bytes.count)
      if count < 0 { return nil }
      if count == 0 { return String(decoding: all, as: UTF8.self) }
      all += bytes.prefix(count)
    }
  }

  static func canBeRead(_ path: String) -> Bool {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    if descriptor >= 0 { close(descriptor) }
    return descriptor >= 0
  }
}
