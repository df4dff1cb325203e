import Foundation
import TestSupport
import Testing

@Suite struct CheckSocketsTests {
  @Test
  func `T9: check predicts a start's errors about socket paths without creating a socket`() throws {
    let scratch = try Scratch()
    func check(
      _ path: String, _ words: String..., control: String = "control.sock"
    ) throws -> (status: Int32, text: String) {
      let text = """
        listeners: { main: { address: "unix:\(scratch.path)/\(path)", allow_users: [\(getuid())] } }
        services: { api: { upstream: https://api.example.com/, credential: none } }
        control: \(control)

        """
      let run = try run([Run.binary, "check", try scratch.write("bearerd.yaml", text, mode: 0o644)] + words)
      return (run.status, scratch.plain(run.output))
    }
    #expect(try check("app.sock").status == 0)
    #expect(access("\(scratch.path)/app.sock", F_OK) != 0)
    try scratch.write("precious", "precious")
    let file = try check("precious")
    let start = "DIR/bearerd.yaml:1:31: error: bearerd cannot create the socket DIR/"
    #expect(file.status == 2 && file.text.contains(start + "precious: "), "\(file.text)")
    #expect(mkdir("\(scratch.path)/open", 0o700) == 0 && chmod("\(scratch.path)/open", 0o777) == 0)
    let open = try check("open/app.sock")
    #expect(open.status == 2 && open.text.contains(start + "open/app.sock: "), "\(open.text)")
    #expect(mkdir("\(scratch.path)/own", 0o700) == 0 && symlink("own", "\(scratch.path)/link") == 0)
    let link = try check("link/app.sock")
    #expect(link.status == 2 && link.text.contains(start + "link/app.sock: "), "\(link.text)")
    // The daemon also starts without a control socket.
    let control = try check("app.sock", "--strict", control: "precious")
    #expect(control.status == 1)
    // The directory may be created later.
    let missing = try check("none/app.sock", "--strict")
    #expect(missing.status == 1)
    let text = [file, open, link, control, missing].map(\.text).joined(separator: "\n")
    #expect(text == (try golden("check-sockets.txt", for: text)))
    guard getuid() == 0 else { return }
    chmod(scratch.path, 0o755)
    #expect(mkdir("\(scratch.path)/theirs", 0o755) == 0 && chown("\(scratch.path)/theirs", 998, 998) == 0)
    // In root's directory only root can create a socket.
    let made = "IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 1) or die"
    let path = "\(scratch.path)/foreign"
    #expect(try run(["perl", "-MIO::Socket::UNIX", "-e", made, path]).status == 0 && lchown(path, 998, 998) == 0)
    let foreign = try check("foreign")
    #expect(foreign.status == 2 && foreign.text.contains(start + "foreign: "), "\(foreign.text)")
    let later = try check("theirs/none/app.sock")
    #expect(later.status == 0, "as their daemon would find it: \(later.text)")
    let theirs = try check("theirs/app.sock", "--strict")
    #expect(theirs.status == 0)
    // The user with this number has a name on some machines.
    let asRoot = [foreign, later, theirs].map(\.text).joined(separator: "\n")
      .replacing(/[^ ]+ \(uid 998\)/, with: "THEM")
    #expect(asRoot == (try golden("check-sockets-as-root.txt", for: asRoot)))
  }
}
