internal import Console
internal import Configuration
internal import Glibc
internal import System

enum ListenerAttacks {
  static let all: [Attack] = [
    Attack(4, "listening on all interfaces", interfaces), Attack(8, "programs of an allowed user", programs),
    Attack(9, "Unix socket races", sockets),
  ]

  private static func interfaces(_ stage: SelftestStage, _ tally: inout AttackTally) throws -> Outcome {
    let addresses = interfaceAddresses()
    var ports: Set<UInt16> = []
    for target in stage.targets {
      guard let port = target.port, ports.insert(port).inserted else { continue }
      for address in addresses {
        tally.check(
          !accepts(address, port, target), "\(target.name): \(address) port \(port)", seen: "bearerd responds",
          expected: "no response")
      }
    }
    for address in ["0.0.0.0:0", "[::]:0"] {
      try stage.expectStartFailure("a listener on \(address), without clients", &tally) { configuration in
        configuration.edit = {
          $0.set("listeners", "selftest", to: .mapping([.init("address", .text(address))]))
          $0.set("listeners", "selftest", "allow_users", to: .words("\(Users.currentUID)"))
        }
      }
    }
    let where_ =
      addresses.isEmpty || ports.isEmpty
      ? "" : "; no response at \(counted(addresses.count, "other address", "other addresses"))"
    return tally.outcome("listening on all interfaces without client tokens is refused\(where_)")
  }

  private static func accepts(_ address: String, _ port: UInt16, _ target: Target) -> Bool {
    do throws(SocketError) {
      let socket = try BlockingSocket(host: address, port: port, seconds: 2)
      try socket.send(Array(target.request().utf8))
      return try !socket.receive().isEmpty
    } catch {
      return false
    }
  }

  private static func programs(_ stage: SelftestStage, _ tally: inout AttackTally) throws -> Outcome {
    let limited = stage.targets.filter { stage.limitsRate(of: $0) }
    try stage.withChangedConfiguration({ $0.rate = "\(Self.requests)/d" }) {
      for target in limited {
        for _ in 0..<Self.requests { try stage.expectSuccess(target.request(), to: target, "within its rate", &tally) }
        try stage.expectRefusal(target.request(), to: target, "beyond its rate", [429], &tally)
      }
    }
    let process = "/proc/\(stage.daemon.processID)"
    let checksProc = Users.currentUID == 0 && access(Self.setpriv, X_OK) == 0 && access(Self.cmp, X_OK) == 0
    if checksProc {
      for name in ["environ", "mem", "maps"] {
        let output = try Self.readAsOtherUser("\(process)/\(name)")
        tally.check(
          output.contains("Permission denied"), "\(process)/\(name)", seen: "uid 64999 can read it",
          expected: "permission denied")
      }
    }
    guard tally.tried > 0 else {
      return .notApplicable("no service has a rate, and only root can look as another user")
    }
    let proc = checksProc ? ["uid 64999 sees nothing in /proc"] : []
    let rates = limited.isEmpty ? [] : ["\(counted(limited.count, "rate")) enforced"]
    return tally.outcome((rates + proc).joined(separator: "; "))
  }

  private static let requests = 3
  private static let setpriv = "/usr/bin/setpriv"
  private static let cmp = "/usr/bin/cmp"

  /// Tries to read a file as another user, and returns the error output.
  private static func readAsOtherUser(_ path: String) throws -> String {
    let child = try ChildProcess(
      path: setpriv,
      arguments: ["--reuid=64999", "--regid=64999", "--clear-groups", cmp, path, "/dev/null"])
    let lines = DaemonLog(descriptor: child.standardError, signals: try SignalDescriptor(Interruption.signals))
    var output = ""
    while let line = try lines.next(timeout: 5_000) { output += line }
    return output
  }

  private static func sockets(_ stage: SelftestStage, _ tally: inout AttackTally) throws -> Outcome {
    let path = "\(stage.directory.path)/race.sock"
    try stage.withAnotherDaemon({ $0.control = "race.sock" }) { owner in
      tally.check(owner.isReady, "a second daemon", seen: "it does not start", expected: "it starts")
      try stage.withAnotherDaemon({ $0.control = "race.sock" }) { _ in
        _ = try? ControlClient(path: path).responseText(to: "reload", seconds: 5)
        let isOwners = try owner.waitForLine(2_000) { $0.contains("event=reloaded") }
        tally.check(
          isOwners, "a daemon that wants the socket of a running one", seen: "it took the socket",
          expected: "it does not get the socket")
      }
    }
    unlink(path)
    let text = "somebody's file"
    try stage.directory.write("race.sock", text)
    try stage.withAnotherDaemon({ $0.control = "race.sock" }) { _ in
      tally.check(
        contents(path) == text, "a file in place of the socket", seen: "the file is gone",
        expected: "the file is kept")
    }
    tally.check(
      contents(path) == text, "a file in place of the socket, afterwards", seen: "the file is gone",
      expected: "the file is kept")
    unlink(path)
    return tally.outcome("the socket of a running daemon is not taken over, and a file in its place is kept")
  }
}

private func contents(_ path: String) -> String? {
  (try? FileReader.read(path: path, maximum: 1 << 16)).map { String(decoding: $0.bytes, as: UTF8.self) }
}

/// Returns the addresses of this machine other than loopback.
private func interfaceAddresses() -> [String] {
  var list: UnsafeMutablePointer<ifaddrs>?
  guard getifaddrs(&list) == 0 else { return [] }
  defer { freeifaddrs(list) }
  var found: [String] = []
  var next = list
  while let entry = next?.pointee {
    next = entry.ifa_next
    guard let address = entry.ifa_addr, entry.ifa_flags & UInt32(IFF_LOOPBACK) == 0 else { continue }
    let size: Int
    switch Int32(address.pointee.sa_family) {
    case AF_INET: size = MemoryLayout<sockaddr_in>.size
    case AF_INET6: size = MemoryLayout<sockaddr_in6>.size
    default: continue
    }
    var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    let flags = Int32(NI_NUMERICHOST)
    guard getnameinfo(address, socklen_t(size), &text, socklen_t(text.count), nil, 0, flags) == 0 else { continue }
    found.append(String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
  }
  return found
}
