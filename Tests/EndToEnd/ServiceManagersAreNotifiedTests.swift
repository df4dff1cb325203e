import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// systemd notifications, exit statuses and start errors.
@Suite(.waits) struct ServiceManagersAreNotified {
  @Test func `systemd is notified of READY, WATCHDOG, RELOADING and STOPPING`() throws {
    let stage = try Stage()
    let manager = try Notifications(path: stage.scratch.path + "/notify.sock")
    try stage.start(
      environment: ["NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "200000"])
    #expect(manager.next()?.hasPrefix("READY=1") == true)
    // The daemon already serves requests when it reports READY.
    #expect(try stage.get().status == 200)
    #expect(manager.next { $0 == "WATCHDOG=1" } != nil)
    #expect(manager.next { $0 == "WATCHDOG=1" } != nil)
    try stage.daemon!.reload()
    let reloading = manager.next { $0.hasPrefix("RELOADING=1") }
    #expect(reloading?.contains("\nMONOTONIC_USEC=") == true)
    #expect(manager.next { $0.hasPrefix("READY=1") }?.contains("generation 2") == true)
    try stage.scratch.write("bearerd.yaml", "nonsense: yes")
    try stage.daemon!.reload()
    #expect(manager.next { $0.hasPrefix("RELOADING=1") } != nil)
    // The daemon is ready with the old configuration.
    #expect(manager.next { $0.hasPrefix("READY=1") }?.contains("generation 2") == true)
    #expect(stage.daemon!.stop() == 0)
    #expect(manager.next { $0.hasPrefix("STOPPING=1") } != nil)
    stage.assertCanary(times: 1)
  }

  /// The first worker and the notifying thread still run.
  @Test func `T60: a worker that hangs is logged, and ends the WATCHDOG notifications`() throws {
    let stage = try Stage()
    let manager = try Notifications(path: stage.scratch.path + "/notify.sock")
    try stage.start(
      stage.configuration(more: "control: control.sock\nworkers: 2"),
      environment: ["NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "1000000"])
    #expect(manager.next { $0 == "WATCHDOG=1" } != nil)
    // A temporary stall does not end the notifications.
    #expect(try stage.control("stall second") == "ok\n")
    #expect(stage.log.wait(for: .loopStalled, ["worker": 2]))
    #expect(manager.next { $0 == "WATCHDOG=1" } != nil)
    #expect(!stage.log.contains(.loopStuck))
    #expect(try stage.control("hang second") == "ok\n")
    #expect(stage.log.wait(for: .loopStuck, ["worker": 2, "step": "message"]))
    // Discard earlier notifications.
    while manager.receivesNow() {}
    #expect(try stage.get().status == 200 || stage.get().status == 200)
    #expect(!manager.receivesNow(), "it says that all is well")
  }

  @Test func `T51: the exit status distinguishes wrong arguments or configurations from problems of the machine`()
    throws
  {
    let stage = try Stage()
    let program = RunningDaemon.binary("bearerd")
    let version = try run([program, "--version"])
    #expect(version.status == 0 && version.output.hasPrefix("bearerd ") && version.errors.isEmpty)
    let help = try run([program, "--help"])
    #expect(help.status == 0 && help.output.contains("--config FILE") && help.errors.isEmpty)
    for arguments in [["--nonsense"], ["--config"], ["extra"], ["-x"]] {
      let result = try run([program] + arguments)
      #expect(result.status == 2 && result.output.isEmpty && result.errors.contains("usage:"), "\(arguments)")
    }
    let missing = try run([program, "--config", stage.scratch.path + "/none.yaml"])
    #expect(missing.status == 2 && missing.errors.contains("none.yaml"))
    // All errors of a file are reported together, each with its position.
    let wrong = try stage.fail("listners: {}\nservices:\n  a: { upstrem: https://a.test/, credential: nobody }\n")
    #expect(wrong.status == 2)
    #expect(wrong.errors.contains("refused.yaml:1:1") && wrong.errors.contains("refused.yaml:3:"), "\(wrong.errors)")
    #expect(wrong.errors.contains("listeners") && wrong.errors.contains("upstream"), "\(wrong.errors)")
    // One wrong letter stops the start. A start that fails sends no notification.
    let manager = try Notifications(path: stage.scratch.path + "/notify.sock")
    let misspelled = try stage.fail(
      stage.configuration().replacing("allow_users:", with: "alow_users:"), environment: ["NOTIFY_SOCKET": manager.path]
    )
    #expect(misspelled.status == 2 && misspelled.errors.contains("allow_users"), "\(misspelled.errors)")
    #expect(!manager.receivesNow())
    let writable = try stage.scratch.write("writable.yaml", stage.configuration(), mode: 0o664)
    #expect(try run([program, "--config", writable]).status == 2)
    // A problem of the machine has another status.
    try stage.start()
    let taken = try stage.fail(stage.configuration(listener: "address: localhost:\(try stage.daemon!.port())"))
    #expect(taken.status == 71 && taken.errors.contains("EADDRINUSE"))
    #expect(stage.daemon!.stop() == 0)
    stage.assertCanary(times: 0)
  }
}

/// The datagram socket of a service manager.
private final class Notifications {
  let path: String
  private let descriptor: Int32

  init(path: String) throws {
    self.path = path
    descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard result == 0 else { throw TestFailure("bind: \(errno)") }
    var limit = timeval(tv_sec: Int(10 * patience), tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close(descriptor) }

  /// Returns the next message that fulfills the condition, and discards earlier ones. `nil` after ten seconds of
  /// silence.
  func next(where isWanted: (String) -> Bool = { _ in true }) -> String? {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while true {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      guard count > 0 else { return nil }
      let text = String(decoding: buffer[..<count], as: UTF8.self)
      if isWanted(text) { return text }
    }
  }

  /// Receives and discards a message without waiting. Returns `false` if there is none.
  func receivesNow() -> Bool {
    var byte: UInt8 = 0
    return recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT)) >= 0
  }
}
