internal import Console
internal import Configuration
internal import TestServer
internal import Glibc
internal import Policy

/// Attacks on the sources of secrets: files and programs that are not what they should be.
enum SourceAttacks {
  static let all = [
    Attack(42, "helper programs", programs), Attack(43, "bytes that break a field", bytes),
    Attack(44, "tricks with files", files), Attack(61, "links past the directory check", links),
  ]

  private static func programs(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    guard let target = stage.byCredential.first, let canary = stage.canaries(of: target).first else {
      return .notApplicable("no credential is added")
    }
    let shell = "printf %s \"word-${\(SelftestStage.variable)}-x\""
    try stage.reloaded({ $0.source(canary.file, is: .command("/bin/sh", "-c", shell)) }) {
      let wanted = canary.value(with: "word--x")
      let isThere = try stage.settle(target) { $0.values(canary.field).contains(wanted) }
      tally.check(
        isThere, "\(target.name): a program that prints a variable of the environment", seen: "the variable",
        expected: "no such variable")
    }
    try stage.directory.write("program", "#!/bin/sh\necho an-open-program\n")
    let program = "\(stage.directory.path)/program"
    chmod(program, 0o777)
    try stage.refuseToStart("a program that everybody can write", &tally) {
      $0.source(canary.file, is: .command(program))
    }
    try stage.refuseToStart("a program without its path", &tally) { $0.source(canary.file, is: .command("cat")) }
    unlink(program)
    let endless = ConfigurationTree.command("/bin/sh", "-c", "while :; do echo endless-endless-endless; done")
    try stage.reloaded({ $0.source(canary.file, is: endless) }) {
      try stage.refuse(target.request(), to: target, "a program that prints without end", [503], &tally)
    }
    _ = try stage.settle(target) { $0.values(canary.field).contains(canary.value) }
    return tally.outcome("no environment, no PATH, no program that others can write, no endless output")
  }

  /// A bad value does not take the place of a good one.
  private static func bytes(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    for target in stage.byCredential {
      for canary in stage.canaries(of: target) {
        for bad in ["broken\r\nX-Evil: 1", "broken\nX-Evil: 1", "broken\u{0}\u{1B}"] {
          let file = "\(stage.directory.path)/\(canary.file)"
          try keeps(canary, target, "a value with \(bad.debugDescription)", stage, &tally) {
            try stage.directory.write(canary.file, bad)
          }
          unlink(file)
          try stage.directory.write(canary.file, canary.secret + "\n")
        }
        _ = try stage.settle(target) { $0.values(canary.field).contains(canary.value) }
      }
    }
    guard tally.tried > 0 else { return .notApplicable("no credential is added") }
    return tally.outcome("values that would break a field are not taken; the last good one stays")
  }

  private static func files(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    for target in stage.byCredential {
      for canary in stage.canaries(of: target) {
        let file = "\(stage.directory.path)/\(canary.file)"
        try keeps(canary, target, "a file that others can read", stage, &tally) {
          try stage.directory.write("new", "of-an-open-file\n")
          chmod("\(stage.directory.path)/new", 0o644)
          rename("\(stage.directory.path)/new", file)
        }
        unlink(file)
        try keeps(canary, target, "a pipe", stage, &tally) { mkfifo(file, 0o600) }
        unlink(file)
        try stage.directory.write(canary.file, canary.secret + "\n")
        let isBack = try stage.settle(target) { $0.values(canary.field).contains(canary.value) }
        tally.check(isBack, "\(target.name): its file is back", seen: "it is not used", expected: "200")
      }
    }
    guard tally.tried > 0 else { return .notApplicable("no credential is added") }
    return tally.outcome("neither a file that others can read nor a pipe is taken; the last good value stays")
  }

  private static func links(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    let open = "\(stage.directory.path)/open"
    mkdir(open, 0o700)
    chmod(open, 0o777)
    try stage.directory.write("open/token", "of-an-open-directory\n")
    for target in stage.byCredential {
      for canary in stage.canaries(of: target) {
        let file = "\(stage.directory.path)/\(canary.file)"
        try keeps(canary, target, "a link into a directory that others can write", stage, &tally) {
          symlink("\(open)/token", "\(stage.directory.path)/new")
          rename("\(stage.directory.path)/new", file)
        }
        unlink(file)
        try stage.directory.write(canary.file, canary.secret + "\n")
        let isBack = try stage.settle(target) { $0.values(canary.field).contains(canary.value) }
        tally.check(isBack, "\(target.name): its file is back", seen: "it is not used", expected: "200")
      }
    }
    guard tally.tried > 0 else { return .notApplicable("no credential is added") }
    try stage.directory.write("open/ca.pem", stage.servers.authority.root.pem)
    symlink("open/ca.pem", "\(stage.directory.path)/linked.pem")
    try stage.refuseToStart("a ca_file behind such a link", &tally) { $0.authority = "linked.pem" }
    for name in ["token", "ca.pem"] { unlink("\(open)/\(name)") }
    rmdir(open)
    return tally.outcome("what others could exchange, however many links lead there, is not taken")
  }

  /// The value before, or nothing at all, for as long as a change takes to be seen.
  private static func keeps(
    _ canary: Canary, _ target: Target, _ tried: String, _ stage: SelftestStage, _ tally: inout AttackTally,
    _ change: () throws -> Void
  ) throws {
    try change()
    let received = try stage.receivedDuring {
      for _ in 0..<10 {
        _ = try stage.send(target.request(), to: target)
        usleep(15_000)
      }
    }
    let others = received.filter { $0.values(canary.field) != [canary.value] }
    tally.check(
      others.isEmpty, "\(target.name): \(tried)", seen: "\(counted(others.count, "request")) with another value",
      expected: "the value before, or nothing sent")
  }
}

extension ConfigurationTree {
  /// A source: a program and its arguments.
  static func command(_ words: String..., timeout: String = "2s") -> Self {
    .mapping([
      .init("command", .sequence(words.map { .text($0) })), .init("ttl", .text("10m")),
      .init("timeout", .text(timeout)),
    ])
  }

  /// With another source in the place of the one that is this file.
  fileprivate func replacing(file: String, by source: ConfigurationTree) -> ConfigurationTree {
    if self["file"] == .text(file) { return source }
    switch self {
    case .scalar: return self
    case .sequence: return mapElements { $0.replacing(file: file, by: source) }
    case .mapping: return mapValues { $1.replacing(file: file, by: source) }
    }
  }
}

extension TestConfiguration {
  mutating func source(_ file: String, is source: ConfigurationTree) {
    edit = { $0["credentials"] = $0["credentials"]?.replacing(file: file, by: source) }
  }
}
