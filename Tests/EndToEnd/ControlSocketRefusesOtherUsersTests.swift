import Foundation
import Log
import ServerSupport
import StatusModel
import TestSupport
import Testing

@Suite(.waits) struct ControlSocketRefusesOtherUsers {
  @Test(.enabled(if: isRoot, "becomes another user"))
  func `T52: only root and the daemon's own user can use the control socket`() throws {
    let stage = try Stage()
    try stage.start()
    chmod(stage.scratch.path, 0o755)
    var status = stat()
    #expect(lstat(stage.scratch.path + "/control.sock", &status) == 0 && status.st_mode & 0o777 == 0o600)
    // The daemon refuses other users even if the file mode admits them.
    chmod(stage.scratch.path + "/control.sock", 0o666)
    let script = """
      my $s = IO::Socket::UNIX->new(Peer => "\(stage.scratch.path)/control.sock") or exit 3;
      print $s "reload\\n"; $s->flush; local $/; my $a = <$s>; print "answer: ", defined $a ? $a : "";
      """
    let result = try run(Stage.user(12_345) + ["perl", "-MIO::Socket::UNIX", "-e", script])
    #expect(!result.output.contains("ok"), "\(result.output)")
    #expect(!stage.log.contains(.reloaded))
    // Listeners do not serve commands.
    for path in ["/reload", "/control", "/status", "/metrics"] { #expect(try stage.get(path).status == 404) }
    stage.assertCanary(times: 0)
  }
}
