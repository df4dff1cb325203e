internal import Console
internal import Configuration
internal import Glibc
internal import Policy
internal import Synchronization
internal import System

/// Attacks by what a reload finds under way.
enum ChangeAttacks {
  static let all = [Attack(47, "reload in mid-flight", midFlight)]

  private static let grace = "300ms"
  private static let patience: UInt64 = 6

  private static func midFlight(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    for target in stage.byCredential {
      try stage.reloaded({ standIn in standIn.edit = { $0.set("limits", "revoked_grace", to: .text(grace)) } }) {
        cut(target, stage, &tally)
      }
    }
    try movedListener(stage, &tally)
    guard tally.tried > 0 else { return .notApplicable("no request with a credential begins as this attack needs it") }
    return tally.outcome("what is under way without its rule is cut; no request moves to another listener")
  }

  /// An answer that has begun and does not end, until its rule is taken away.
  private static func cut(_ target: Target, _ stage: SelftestStage, _ tally: inout AttackTally) {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nbegun"
    stage.servers.script.answering(rest: "", { _ in Array(head.utf8) }) {
      do throws(SocketError) {
        let socket = try target.connect(seconds: patience)
        try socket.send(Array(target.request("Content-Length: 10", body: "hello").utf8))
        let begun = try socket.receive()
        guard Reply(begun).status == 200 else { return }
        let began = Clock.monotonicMicroseconds
        do {
          try stage.reloaded({ standIn in
            standIn.edit = {
              $0.set("limits", "revoked_grace", to: .text(grace))
              $0.set(
                "services", target.name, "rules",
                to: .sequence([.mapping([.init("match", .text("/**")), .init("deny", .text("true"))])]))
            }
          }) {
            try stage.refuse(target.request(), to: target, "a request after the reload", [403], &tally)
            // An end, or a reset; not the deadline.
            _ = try? socket.receiveAll(maximum: 1 << 20)
            let seconds = (Clock.monotonicMicroseconds - began) / 1_000_000
            tally.check(
              seconds + 1 < patience, "\(target.name): an answer under way without its rule",
              seen: "it goes on after \(seconds) s",
              expected: "an end after \(grace)")
          }
        } catch { tally.check(false, "\(target.name): a reload", seen: "\(error)", expected: "it is put to use") }
      } catch {}
    }
  }

  // MARK: another listener

  /// Methods whose requests bearerd sends again when a reused connection closes without a response.
  private static let idempotent: Set = ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]

  /// While a request is under way, its listener gets another address, and its place in the file goes to another listener, where the
  /// same path leads elsewhere. The upstream then closes without a response, so that the request would be sent again.
  private static func movedListener(_ stage: SelftestStage, _ tally: inout AttackTally) throws {
    for target in stage.byCredential where idempotent.contains(target.method) && target.upstream.scheme == .https {
      let listener = stage.settings.listeners[target.service.listener].name
      guard stage.hasListener(listener) else { continue }
      try stage.reloadable { daemon, reload in
        guard let target = stage.targets(at: daemon).first(where: { $0.name == target.name }) else { return }
        try retry(target, of: listener, stage, &tally) { try reload { $0.edit = stage.moving(listener, of: target) } }
      }
    }
  }

  private static func retry(
    _ target: Target, of listener: String, _ stage: SelftestStage, _ tally: inout AttackTally,
    _ reload: () throws -> Void
  ) throws {
    let isMoved = Atomic(false)
    let (script, evil) = (stage.servers.script, stage.servers.evil.origin.port)
    let socket = try target.connect(seconds: patience)
    let request = Array(target.request(connection: "").utf8)
    try socket.send(request)
    guard Reply(try socket.receive()).status == 200 else { return }
    let before = script.count
    var reply = Reply([])
    try script.answering({ request in
      if request.upstream == evil { return UpstreamScript.ok(request) }
      waitUntil(10_000) { isMoved.load(ordering: .acquiring) }
      return []
    }) {
      try socket.send(request)
      waitUntil(5_000) { script.count > before }
      defer { isMoved.store(true, ordering: .releasing) }
      try reload()
      isMoved.store(true, ordering: .releasing)
      reply = Reply((try? socket.receiveAll(maximum: 1 << 20)) ?? [])
    }
    let strays = script.received.dropFirst(before).filter { $0.upstream == evil }
    if strays.isEmpty, reply.isRefusal { tally.refused += 1 }
    tally.check(
      strays.isEmpty && reply.isRefusal, "\(target.name): a request under way while listener \(listener) moves",
      seen: strays.isEmpty ? reply.short : "another listener's upstream got it", expected: "a refusal")
  }

  /// Waits until the condition holds, at most so many milliseconds.
  private static func waitUntil(_ milliseconds: UInt64, _ condition: () -> Bool) {
    let deadline = Clock.monotonicMicroseconds + milliseconds * 1_000
    while !condition(), Clock.monotonicMicroseconds < deadline { usleep(2_000) }
  }
}

extension SelftestStage {
  /// Whether the configuration has the listener among `listeners`, and not by a service's own port.
  fileprivate func hasListener(_ name: String) -> Bool { name == "main" || standIn.tree["listeners"]?[name] != nil }

  /// A change that gives a listener another address, and its place in the file to one that leads to another upstream.
  fileprivate func moving(_ listener: String, of target: Target) -> @Sendable (inout ConfigurationTree) -> Void {
    let (mount, evil) = (target.mount, servers.evil.origin.description)
    let (moved, other) = ("unix:\(directory.path)/moved.sock", "unix:\(directory.path)/stranger.sock")
    return { tree in
      guard case .mapping(var listeners)? = tree["listeners"],
        let index = listeners.firstIndex(where: { $0.key == listener })
      else { return }
      let before = listeners[index].value
      tree.set("listeners", listener, "address", to: .text(moved))
      guard let after = tree["listeners"]?[listener] else { return }
      var stranger = before
      stranger["address"] = .text(other)
      listeners[index] = .init("selftest-stranger", stranger)
      listeners.append(.init(listener, after))
      tree["listeners"] = .mapping(listeners)
      tree.set(
        "services", "selftest-stranger",
        to: .mapping([
          .init("at", .text(mount)), .init("listener", .text("selftest-stranger")),
          .init("upstream", .text(evil + "/")),
          .init("ca_file", .text("ca.pem")), .init("credential", .text("pass")),
        ]))
    }
  }
}
