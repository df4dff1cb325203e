import Glibc
import System
import Testing

/// A user who can replace a directory or a link on the path to a file controls its content (T61).
@Suite struct FileWalkTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
    for directory in ["ours", "ours/deep", "theirs"] { mkdir(scratch(directory), 0o700) }
    scratch.write("ours", to: "ours/file")
    scratch.write("theirs", to: "theirs/file")
  }

  /// Lets other users write a directory.
  private func openToOthers(_ directory: String, mode: mode_t = 0o777) { chmod(scratch(directory), mode) }

  private func read(_ name: String) throws -> String {
    String(decoding: try FileReader.read(try FileWalk(scratch(name)).validated(), maximum: 100).bytes, as: UTF8.self)
  }

  private func step(_ name: String) -> String? {
    guard let problem = FileWalk(scratch(name)).problem else { return nil }
    return problem.message.components(between: " write ", " (mode")
  }

  @Test func `T61: every directory of the written path is checked`() throws {
    #expect(try read("ours/file") == "ours")
    openToOthers("ours")
    #expect(step("ours/file") == scratch("ours"))
    #expect(step("ours/deep/file") == scratch("ours"), "also if the file does not exist")
    #expect(error { try read("ours/file") } == EPERM)
    openToOthers("ours", mode: 0o1777)
    #expect(try read("ours/file") == "ours", "in a sticky directory, only the owner can replace an entry")
    openToOthers("ours", mode: 0o720)
    #expect(error { try read("ours/file") } == EPERM)
  }

  @Test func `T61: a link is refused if others can write its directory or any step of its target`() throws {
    let rows = [
      ("absolute", scratch("theirs/file")), ("relative", "theirs/file"),
      ("up", "../\(name(of: scratch.path))/theirs/file"),
      ("dots", "./ours/deep/../../theirs/./file"),
    ]
    for (name, target) in rows { symlink(target, scratch(name)) }
    symlink("absolute", scratch("chain"))
    symlink("theirs", scratch("middle"))
    // The target is ours, but the link is in a directory that others can write.
    symlink("../ours/file", scratch("theirs/back"))
    symlink("theirs/back", scratch("through"))
    for name in rows.map(\.0) + ["chain", "middle/file"] { #expect(try read(name) == "theirs", "\(name)") }
    #expect(try read("through") == "ours")
    openToOthers("theirs")
    for name in rows.map(\.0) + ["chain", "middle/file", "through"] {
      #expect(step(name) == scratch("theirs"), "\(name)")
      #expect(error { try read(name) } == EPERM, "\(name)")
    }
    #expect(FileWalk(scratch("through")).problem?.help == "chmod go-w \(scratch("theirs"))")
  }

  @Test func `T61: the file that was opened is read, even if the path changes meanwhile`() throws {
    symlink("ours", scratch("link"))
    let walk = try FileWalk(scratch("link/file")).validated()
    symlink("theirs", scratch("link.new"))
    rename(scratch("link.new"), scratch("link"))
    #expect(try FileReader.read(walk, maximum: 100).bytes == Array("ours".utf8))
    // A file that is replaced by a link after the walk is not followed.
    let other = try FileWalk(scratch("ours/file")).validated()
    unlink(scratch("ours/file"))
    symlink("../theirs/file", scratch("ours/file"))
    #expect(error { try FileReader.read(other, maximum: 100) } == ELOOP)
  }

  @Test func `circular links are refused, and links of the proc file system are not followed`() throws {
    symlink("round", scratch("round"))
    #expect(error { try read("round") } == ELOOP)
    for index in 0..<60 { symlink(index == 0 ? "ours/file" : "n\(index - 1)", scratch("n\(index)")) }
    #expect(try read("n39") == "ours")
    #expect(error { try read("n40") } == ELOOP)
    #expect(FileWalk("/proc/self/exe").failure?.error.errno == ELOOP)
    #expect(error { try FileReader.read(FileWalk("/proc/self/root\(scratch("ours/file"))"), maximum: 9) } == ELOOP)
  }

  @Test func `a failed walk names the failing step, and file names may contain any bytes`() throws {
    let walk = FileWalk(scratch("ours/none/file"))
    #expect(walk.failure?.error.errno == ENOENT && walk.failure?.step == scratch("ours/none"))
    #expect(FileWalk(scratch("ours/file/x")).failure?.error.errno == ENOTDIR)
    #expect(FileWalk("/").status?.isDirectory == true && FileWalk(scratch("ours/..")).status?.isDirectory == true)
    let odd = scratch("ours/") + "\u{1}"
    let descriptor = Glibc.open(odd, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    close(descriptor)
    #expect(FileWalk(odd).status?.isRegular == true)
    // Latin-1
    let bytes: [CChar] = [CChar(bitPattern: 0xE9), 0]
    scratch("ours/").withCString { _ in
      let name = Array(scratch("ours/").utf8CString.dropLast()) + bytes
      close(Glibc.open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600))
      symlink(name, scratch("latin"))
    }
    #expect(FileWalk(scratch("latin")).status?.isRegular == true)
    #expect(FileWalk("relative/none").failure?.error.errno == ENOENT)
  }

  @Test(.enabled(if: isRoot)) func `T61: directories and links of another user are refused, sticky or not`() throws {
    symlink("ours/file", scratch("link"))
    lchown(scratch("link"), 65_534, 65_534)
    let ofLink = try #require(FileWalk(scratch("link")).problem)
    #expect(
      ofLink.message
        == "the symbolic link \(scratch("link")) belongs to uid 65534, who could replace \(scratch("link"))")
    #expect(ofLink.help == "chown -h root \(scratch("link"))")
    #expect(FileWalk(scratch("link"), as: 65_534).problem == nil)
    chown(scratch("theirs"), 65_534, 65_534)
    chmod(scratch("theirs"), 0o1755)
    let problem = try #require(FileWalk(scratch("theirs/file")).problem)
    #expect(
      problem.message
        == "\(scratch("theirs")) belongs to uid 65534 (mode 1755), who could replace \(scratch("theirs/file"))")
    #expect(problem.help == "chown root \(scratch("theirs"))")
    // The links of a Kubernetes volume.
    mkdir(scratch("volume"), 0o755)
    mkdir(scratch("volume/..v1"), 0o755)
    scratch.write("value", to: "volume/..v1/key")
    symlink("..v1", scratch("volume/..data"))
    symlink("..data/key", scratch("volume/key"))
    #expect(try read("volume/key") == "value")
  }

  @Test(.enabled(if: isRoot))
  func `T61: unsafe modes are tolerated on a read-only mount, and the tolerated problem is reported`() throws {
    let volume = scratch("volume")
    mkdir(volume, 0o755)
    try #require(mount("none", volume, "tmpfs", 0, "mode=0777") == 0)
    defer { umount2(volume, Int32(MNT_DETACH)) }
    scratch.write("value", to: "volume/key", mode: 0o600)
    #expect(error { try read("volume/key") } == EPERM)
    try #require(mount("none", volume, "tmpfs", UInt(MS_REMOUNT | MS_RDONLY), "mode=0777") == 0)
    #expect(try read("volume/key") == "value")
    let walk = FileWalk(scratch("volume/key"))
    #expect(walk.mount.isReadOnly && walk.problem == nil)
    #expect(walk.toleratedProblem?.message.contains("others can write \(volume) (mode 0777, uid 0)") == true)
    // Directories outside of the mount are still checked.
    openToOthers("ours")
    symlink("../volume/key", scratch("ours/key"))
    #expect(step("ours/key") == scratch("ours"))
  }

  private func name(of path: String) -> String { String(path.split(separator: "/").last ?? "") }
}

extension String {
  fileprivate func components(between start: String, _ end: String) -> String? {
    guard let from = firstRange(of: start), let to = self[from.upperBound...].firstRange(of: end) else { return nil }
    return String(self[from.upperBound..<to.lowerBound])
  }
}
