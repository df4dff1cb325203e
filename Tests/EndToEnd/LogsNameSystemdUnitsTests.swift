import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// The log and `explain` show the systemd unit of a caller. The unit has no other effect.
@Suite(.waits, .enabled(if: ControlGroupTree.canBeMade, "makes control groups")) struct LogsNameSystemdUnits {
  @Test func `T6: the log and explain name the systemd unit of the caller`() throws {
    let (stage, tree) = (try Stage(), try ControlGroupTree())
    try stage.start()
    let user = "user-12345.slice/user@12345.service"
    for (group, unit) in [
      ("nightly.service", "nightly.service"), ("session-7.scope/below/it", "session-7.scope"),
      ("\(user)/app.slice/mail.service", "user@12345.service/mail.service"),
      ("\(user)/forged ssh.service", "user@12345.service"),
      ("a\\x2db.service", "a\\x2db.service"),
    ] {
      let response = try stage.sendRequest(as: try tree.wrapper(group), target: "/api/\(unit.utf8.count)")
      #expect(response.output.hasPrefix("HTTP/1.1 200 "), "\(response)")
      #expect(
        stage.log.wait(
          for: .request, ["uid": 0, "unit": "\(unit)", "method": "GET", "path": "/api/\(unit.utf8.count)"]), "\(group)")
    }
    // A refused caller has a unit, too, and a caller outside of units has none.
    let stranger = try stage.sendRequest(as: try tree.wrapper("stranger.service") + Stage.user(12_345))
    #expect(stranger.output.hasPrefix("HTTP/1.1 403 "))
    #expect(stage.log.wait(for: .request, ["uid": 12345, "unit": "stranger.service"]))
    #expect(
      try stage.sendRequest(as: try tree.wrapper("container"), target: "/api/none").output.hasPrefix("HTTP/1.1 200 "))
    #expect(stage.log.wait(for: .request, ["uid": 0, "method": "GET", "path": "/api/none"]))
    // `explain` names its own unit, and no unit for another user.
    let wrapper = try tree.wrapper("terminal.scope")
    let words = [RunningDaemon.binary("bearerctl"), "explain", "GET", "/api/x", "--config", stage.daemon!.file]
    #expect(try run(wrapper + words).output.contains("(uid 0), in terminal.scope\n"))
    #expect(!(try run(wrapper + words + ["--user", "0"]).output.contains("terminal.scope")))
    stage.assertCanary(times: 6)
  }

  /// Runs the daemon as in its sandbox: as a user without capabilities, with read-only control groups.
  @Test func `T6: an unprivileged daemon logs units of TCP callers, and no units of Unix socket callers`() throws {
    let (stage, tree) = (try Stage(), try ControlGroupTree())
    let path = "\(stage.scratch.path)/app.sock"
    let configuration = stage.configuration(
      listener: "address: [localhost:0, \"unix:\(path)\"]\n    mode: \"0666\"")
    try stage.scratch.write("bearerd.yaml", "", mode: 0o644)
    _ = try run(["chown", "-R", "12346:12346", stage.scratch.path])
    chmod(stage.scratch.path, 0o755)
    let script = "mount -o remount,bind,ro /sys/fs/cgroup; mount -t proc -o hidepid=invisible proc /proc; exec \"$@\""
    try stage.start(
      configuration,
      wrapper: ["/usr/bin/env", "unshare", "--mount", "sh", "-c", script, "sh"] + Stage.user(12_346)
        + ["--bounding-set=-all", "--no-new-privs", "--"])
    #expect(
      try stage.sendRequest(as: try tree.wrapper("app.service"), target: "/api/tcp").output.hasPrefix("HTTP/1.1 200 "))
    #expect(stage.log.wait(for: .request, ["uid": 0, "unit": "app.service", "method": "GET", "path": "/api/tcp"]))
    let local = try stage.sendRequest(as: try tree.wrapper("app.service"), unix: path, target: "/api/unix")
    #expect(local.output.hasPrefix("HTTP/1.1 200 "))
    #expect(stage.log.wait(for: .request, ["uid": 0, "method": "GET", "path": "/api/unix"]))
    stage.assertCanary(times: 2)
  }
}
