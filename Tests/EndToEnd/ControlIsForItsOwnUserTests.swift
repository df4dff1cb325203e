import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

@Suite(.waits) struct ControlIsForItsOwnUser {
  @Test(.enabled(if: isRoot, "becomes another user"))
  func `T52: the control socket is for root and the daemon's own user`() throws {
    let stage = try Stage()
    try stage.start()
    chmod(stage.scratch.path, 0o755)
    var status = stat()
    #expect(lstat(stage.scratch.path + "/control.sock", &status) == 0 && status.st_mode & 0o777 == 0o600)
    // Even where the mode would let it in.
    chmod(stage.scratch.path + "/control.sock", 0o666)
    let script = """
      my $s = IO::Socket::UNIX->new(Peer => "\(stage.scratch.path)/control.sock") or exit 3;
      print $s "reload\\n"; $s->flush; local $/; my $a = <$s>; print "answer: ", defined $a ? $a : "";
      """
    let result = try run(Stage.user(12_345) + ["perl", "-MIO::Socket::UNIX", "-e", script])
    #expect(!result.output.contains("ok"), "\(result.output)")
    #expect(!stage.log.contains(.reloaded))
    // Nor does a listener know the command.
    for path in ["/reload", "/control", "/status", "/metrics"] { #expect(try stage.get(path).status == 404) }
    stage.assertCanary(times: 0)
  }
}
