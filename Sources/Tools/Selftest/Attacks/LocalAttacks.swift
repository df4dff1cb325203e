internal import Console
internal import Gateway
internal import Glibc
internal import Policy
internal import System

/// Attacks of other programs and users of the machine.
enum LocalAttacks {
  static let all = [
    Attack(5, "a squatter on half of localhost", squatter), Attack(6, "another user", otherUser),
    Attack(7, "a caller that the kernel does not name", vanished), Attack(52, "control over a listener", control),
  ]

  private static func squatter(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    var seen: Set<UInt16> = []
    for target in stage.targets {
      guard let port = target.port, seen.insert(port).inserted else { continue }
      for address in ["127.0.0.1", "::1"] {
        tally.check(
          !LoopbackPort.canBeTaken(address, port), "\(target.name): [\(address)]:\(port)",
          seen: "any program may listen there", expected: "taken by bearerd (address: localhost:PORT takes both)")
      }
    }
    guard tally.tried > 0 else { return .notApplicable("no TCP listener") }
    return tally.outcome("both families of \(counted(seen.count, "port")) are held")
  }

  private static func otherUser(_ stage: SelftestStage) throws -> Outcome {
    guard Users.currentUID == 0 else { return .notApplicable("it takes root to ask as somebody else") }
    var tally = AttackTally()
    for target in stage.targets where target.port != nil {
      try FileSystemUser.during(64_999) {
        try stage.refuse(target.request(), to: target, "uid 64999", [403], &tally)
      }
      try stage.pass(target.request(), to: target, "you", &tally)
    }
    guard tally.tried > 0 else { return .notApplicable("no TCP listener") }
    return tally.outcome("uid 64999 is refused, and you are not")
  }

  private static func vanished(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    for target in stage.targets where target.port != nil {
      if Users.currentUID == 0 {
        try FileSystemUser.during(FileSystemUser.overflow) {
          try stage.refuse(target.request(), to: target, "the overflow uid", [403], &tally)
        }
      }
      for _ in 0..<3 { vanish(target) }
      settle(stage)
      try stage.pass(target.request(), to: target, "after connections that ended at once", &tally)
    }
    guard tally.tried > 0 else { return .notApplicable("no TCP listener") }
    let who = Users.currentUID == 0 ? "the overflow uid is refused; " : ""
    return tally.outcome("\(who)connections that end at once do no harm")
  }

  /// Whatever the vanished connections led to has happened.
  private static func settle(_ stage: SelftestStage) {
    var before = -1
    while stage.servers.script.count != before {
      before = stage.servers.script.count
      usleep(50_000)
    }
  }

  private static func vanish(_ target: Target) {
    do throws(SocketError) {
      let socket = try target.connect(seconds: 2)
      try socket.send(Array(target.request().utf8))
    } catch {}
  }

  private static func control(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    let reloads = stage.daemon.text.ranges(of: " event=reloaded").count
    for target in stage.targets {
      for path in [
        "/reload", "/status", "/-/reload", "/config", "/admin", "/debug/pprof/", "/healthz", "/.well-known/bearerd",
      ] {
        for method in ["GET", "POST"] {
          let request = target.request(method: method, path: path)
          let isOurs = stage.snapshot.explain(request, listener: target.service.listener)?.refusal == nil
          let reply = try stage.send(request, to: target)
          // With a service on the whole listener these are paths of the upstream.
          tally.check(
            isOurs || reply.isRefusal, "\(target.name): \(method) \(path)", seen: reply.short, expected: "a refusal")
        }
      }
      for line in ["reload\n", "status\n"] {
        try stage.refuse(line, to: target, "the line \"\(line.dropLast())\"", nil, &tally)
      }
    }
    tally.check(
      stage.daemon.text.ranges(of: " event=reloaded").count == reloads, "all of this", seen: "a reload",
      expected: "no reload")
    let mode = FileStatus(path: "\(stage.directory.path)/control.sock")?.mode ?? 0o777
    tally.check(
      mode & 0o077 == 0, "the control socket", seen: "mode \(String(mode, radix: 8))", expected: "closed to others")
    return tally.outcome("\(counted(tally.tried - 2, "try", "tries")); the control socket is closed to others")
  }
}

/// Whether another program could listen beside bearerd.
enum LoopbackPort {
  static func canBeTaken(_ address: String, _ port: UInt16) -> Bool {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_flags = Int32(AI_NUMERICHOST | AI_NUMERICSERV)
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(address, String(port), &hints, &list) == 0, let found = list?.pointee else { return false }
    defer { freeaddrinfo(list) }
    let descriptor = socket(found.ai_family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var yes: Int32 = 1
    for option in [SO_REUSEADDR, SO_REUSEPORT] {
      setsockopt(descriptor, SOL_SOCKET, option, &yes, socklen_t(MemoryLayout<Int32>.size))
    }
    return bind(descriptor, found.ai_addr, found.ai_addrlen) == 0 && listen(descriptor, 1) == 0
  }
}
