import Foundation
import System
import TestSupport
import Testing

/// T6: the systemd unit of a socket's control group.
@Suite(.serialized) struct ControlGroupTests {
  @Test(arguments: [
    ("/system.slice/ssh.service", "ssh.service"),
    ("/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service"),
    ("/user.slice/user-1000.slice/session-3.scope", "session-3.scope"),
    ("/init.scope", "init.scope"),
    ("/system.slice/dev-disk-by\\x2dlabel.service", "dev-disk-by\\x2dlabel.service"),
    // A service may create groups below its own group.
    ("/system.slice/docker-5f3a.scope/system.slice/ssh.service", "docker-5f3a.scope"),
    ("/system.slice/job.service/a b.service", "job.service"),
    ("/system.slice/job.service/user@0.service/ssh.service", "job.service"),
    // The name of a unit of a user's systemd begins with the user's service.
    ("/user.slice/user-1000.slice/user@1000.service/app.slice/mail.service", "user@1000.service/mail.service"),
    (
      "/user.slice/user-1000.slice/user@1000.service/app.slice/app-a.slice/b.scope/c.scope", "user@1000.service/b.scope"
    ),
    ("/user.slice/user-1000.slice/user@1000.service/init.scope", "user@1000.service/init.scope"),
    ("/user.slice/user-1000.slice/user@1000.service", "user@1000.service"),
    ("/user.slice/user-1000.slice/user@1000.service/app.slice", "user@1000.service"),
    ("/user.slice/user-1000.slice/user@1000.service/a b.service", "user@1000.service"),
    ("/user.slice/user-1000.slice/user@1000.service/a\n\u{1B}.service", "user@1000.service"),
    (
      "/user.slice/user-1000.slice/user@1000.service/\(String(repeating: "a", count: 256)).service", "user@1000.service"
    ),
  ])
  func `T6: a control group is named after its outermost unit`(_ group: String, _ unit: String) {
    #expect(SystemdUnit.name(of: group) == unit)
  }

  @Test(arguments: [
    "", "/", "/system.slice", "/docker/5f3a", "/docker/5f3a/ssh.service", "/kubepods/burstable", "service",
    "/ssh.socket",
    "/system.slice/a b.service", "/system.slice/\u{1B}.scope",
  ])
  func `T6: a control group outside of all units has no name`(_ group: String) {
    #expect(SystemdUnit.name(of: group) == nil)
  }

  @Test func `T6: the control group number of a socket leads to the group of its process`() throws {
    guard let groups = ControlGroups(), let own = ControlGroups.own else { return }
    let pair = try LoopbackPair()
    let loopback: [UInt8] = [127, 0, 0, 1]
    let owner = try SocketDiagnostics().owner(
      clientIP: loopback, clientPort: pair.clientPort, serverIP: loopback, serverPort: pair.serverPort)
    pair.close()
    let number = try #require(owner?.controlGroup)
    // The root group and groups outside of the visible tree have no name.
    guard own != "/", !own.hasPrefix("/..") else { return }
    #expect(groups.path(of: number) == own)
  }

  @Test func `an unknown control group number is not found`() {
    #expect(ControlGroups()?.path(of: .max) == nil)
  }

  @Test(.enabled(if: ControlGroupTree.canBeMade, "makes control groups"))
  func `T6: a control group is found at any depth`() throws {
    let tree = try ControlGroupTree()
    for path in ["a.slice", "a.slice/b.service", "a.slice/c.slice/d.scope/e/f", "a.slice/c.slice/\u{E4} b"] {
      let number = try tree.make(path)
      #expect(ControlGroups()?.path(of: number) == "/\(tree.name)/\(path)")
    }
  }

  @Test(.enabled(if: ControlGroupTree.canBeMade, "makes control groups"))
  func `T6: a search is limited, and still finds groups near the root`() throws {
    let tree = try ControlGroupTree()
    let low = try (0..<2_100).map { try tree.make("a.slice/u.service/\($0)") }
    let high = try tree.make("b.service")
    #expect(ControlGroups()?.path(of: high) == "/\(tree.name)/b.service")
    #expect(ControlGroups()?.path(of: .max) == nil)
    #expect(low.contains { ControlGroups()?.path(of: $0) == nil }, "the search stops before it has seen all groups")
  }
}
