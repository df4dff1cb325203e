import Foundation
import ServerSupport
import TestSupport
import Testing

/// Other programs that try to take over a port or a socket path of the daemon.
@Suite(.inProcess) struct SocketsCannotBeHijacked {
  @Test(arguments: Squat.allCases)
  func `T5: the daemon does not start if another program listens on its port in either family`(_ squat: Squat) throws {
    guard !squat.isIPv6 || LocalClient.hasIPv6 else { return }
    let stage = try Stage()
    let squatter = try #require(Squatting(squat, port: 0))
    let result = try stage.fail(stage.configuration(listener: "address: localhost:\(squatter.port)"))
    #expect(result.status == 71, "\(result.errors)")
    #expect(result.errors.contains("EADDRINUSE"))
    stage.assertCanary(times: 0)
  }

  /// With several workers the port is not shared either: any program of the same user could share it.
  @Test(arguments: Squat.allCases, [1, 3])
  func `T5: no other program can listen on the daemon's port in either family`(
    _ squat: Squat, workers: Int
  ) throws {
    guard !squat.isIPv6 || LocalClient.hasIPv6 else { return }
    let stage = try Stage()
    try stage.start(stage.configuration(more: "workers: \(workers)"))
    let port = try stage.daemon!.port()
    #expect(Squatting(squat, port: port) == nil)
    #expect(try stage.get().status == 200)
    #expect(stage.daemon!.stop() == 0)
    #expect(Squatting(squat, port: port) != nil, "it was the daemon that stood in the way")
    stage.assertCanary(times: 1)
  }

  private static func identity(_ path: String) throws -> [UInt64] {
    var status = stat()
    guard lstat(path, &status) == 0 else { throw TestFailure("lstat: \(errno)") }
    return [UInt64(status.st_ino), UInt64(status.st_mode), UInt64(status.st_uid), UInt64(status.st_size)]
  }

  /// How the path is made unsafe.
  @Test(arguments: [
    "linked parent", "writable", "group", "sticky", "writable above", "parent of another", "link of another",
  ])
  func `T9: a socket path that other users could change is refused`(_ kind: String) throws {
    if kind.hasSuffix("another") && !isRoot { return }
    let stage = try Stage()
    let (above, parent) = (stage.scratch.path + "/above", stage.scratch.path + "/above/parent")
    #expect(mkdir(above, 0o755) == 0 && mkdir(parent, 0o755) == 0)
    var path = parent + "/app.sock"
    switch kind {
    case "linked parent":
      #expect(symlink(parent, above + "/link") == 0)
      path = above + "/link/app.sock"
    case "writable": chmod(parent, 0o757)
    case "group": chmod(parent, 0o775)
    case "sticky": chmod(parent, 0o1777)
    case "writable above": chmod(above, 0o757)
    case "parent of another": #expect(chown(parent, 12_345, 12_345) == 0)
    default:
      #expect(symlink(above, stage.scratch.path + "/way") == 0)
      #expect(lchown(stage.scratch.path + "/way", 12_345, 12_345) == 0)
      path = stage.scratch.path + "/way/parent/app.sock"
    }
    let result = try stage.fail(stage.configuration(listener: "address: unix:\(path)"))
    #expect(result.status == 2 && result.errors.contains("bearerd cannot create the socket \(path): "), "\(result)")
    #expect(!result.errors.contains("Operation not permitted") && !result.errors.contains("Too many levels"))
    #expect(access(parent + "/app.sock", F_OK) != 0)
    stage.assertCanary(times: 0)
  }

  @Test func `T9: an abstract or empty socket name is refused`() throws {
    let stage = try Stage()
    for address in ["unix:@bearerd-test", "\"unix:\\0bearerd-test\"", "\"unix:\""] {
      let result = try stage.fail(stage.configuration(listener: "address: \(address)"))
      #expect(result.status == 2, "\(address): \(result.errors)")
    }
    #expect(!(try String(contentsOfFile: "/proc/net/unix", encoding: .utf8)).contains("@bearerd-test"))
    stage.assertCanary(times: 0)
  }
}
