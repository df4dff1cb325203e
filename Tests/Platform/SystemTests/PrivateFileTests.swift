import Glibc
import System
import Testing

/// A file that is replaced atomically.
@Suite struct PrivateFileTests {
  private static func memory(_ text: String) throws -> LockedMemory {
    let memory = try LockedMemory(byteCount: max(1, text.utf8.count))
    for (index, byte) in text.utf8.enumerated() { memory.bytes[index] = byte }
    return memory
  }

  private static func replace(_ path: String, _ text: String) throws {
    try PrivateFile.replace(path, with: memory(text), count: text.utf8.count)
  }

  private static func text(_ path: String) throws -> String? {
    try PrivateFile.read(path, maximum: 100_000, mustLock: false).map { memory, count in
      String(decoding: memory.bytes[..<count], as: UTF8.self)
    }
  }

  @Test func `a private file is created, replaced and read, with mode 0600`() throws {
    let scratch = try Scratch()
    let path = scratch("login")
    #expect(try Self.text(path) == nil)
    for text in ["one", "another one", "", "x", String(repeating: "y", count: 90_000)] {
      try Self.replace(path, text)
      #expect(try Self.text(path) == text)
      var status = stat()
      #expect(lstat(path, &status) == 0 && status.st_mode == S_IFREG | 0o600)
    }
    #expect(try names(in: scratch.path) == ["login"])
  }

  @Test func `the umask does not change the mode of a private file`() async {
    await #expect(processExitsWith: .success) {
      let scratch = try Scratch()
      for mask in [0, 0o777, 0o077] as [mode_t] {
        umask(mask)
        try PrivateFileTests.replace(scratch("login"), "x")
        var status = stat()
        try expect(lstat(scratch("login"), &status) == 0 && status.st_mode & 0o7777 == 0o600)
      }
    }
  }

  @Test(arguments: ["open", "link", "directory", "fifo", "stranger"])
  func `an existing path that is not a private file is refused`(_ kind: String) throws {
    let scratch = try Scratch()
    let path = scratch("login")
    scratch.write("target", to: "target")
    switch kind {
    case "open": scratch.write("old", to: "login", mode: 0o640)
    case "link": symlink(scratch("target"), path)
    case "directory": mkdir(path, 0o700)
    case "fifo": mkfifo(path, 0o600)
    default:
      scratch.write("old", to: "login")
      // Only root can give a file to another user.
      guard chown(path, 65534, 65534) == 0 else { return }
    }
    #expect(throws: SystemError.self) { try Self.replace(path, "new") }
    #expect(throws: SystemError.self) { _ = try Self.text(path) }
    #expect(try Self.text(scratch("target")) == "target")
    #expect(try names(in: scratch.path) == ["login", "target"])
  }

  @Test(arguments: ["login", "", "/", "/tmp/", "/nowhere/at/all", "/tmp/a\u{0}b"])
  func `a relative, missing or malformed path is refused`(_ path: String) {
    #expect(throws: SystemError.self) { try Self.replace(path, "new") }
  }

  @Test func `a directory that others can write is refused`() throws {
    let scratch = try Scratch()
    chmod(scratch.path, 0o777)
    #expect(throws: SystemError.self) { try Self.replace(scratch("login"), "new") }
    #expect(try names(in: scratch.path) == [])
  }

  @Test func `T61: a private file is refused if others can write a directory that leads to it`() throws {
    let scratch = try Scratch()
    for directory in ["ours", "theirs"] { mkdir(scratch(directory), 0o700) }
    try Self.replace(scratch("ours/login"), "one")
    symlink("../ours", scratch("theirs/link"))
    symlink("theirs/link", scratch("way"))
    #expect(try Self.text(scratch("way/login")) == "one")
    chmod(scratch("theirs"), 0o777)
    #expect(throws: SystemError.self) { _ = try Self.text(scratch("way/login")) }
    #expect(throws: SystemError.self) { try Self.replace(scratch("way/login"), "two") }
    #expect(try Self.text(scratch("ours/login")) == "one")
    chmod(scratch("ours"), 0o777)
    #expect(throws: SystemError.self) { _ = try Self.text(scratch("ours/login")) }
    #expect(throws: SystemError.self) { _ = try Self.text(scratch("ours/none")) }
  }

  @Test func `a private file larger than the maximum is refused`() throws {
    let scratch = try Scratch()
    try Self.replace(scratch("login"), "12345")
    #expect(throws: SystemError.self) { _ = try PrivateFile.read(scratch("login"), maximum: 4, mustLock: false) }
    #expect(try PrivateFile.read(scratch("login"), maximum: 5, mustLock: false)?.count == 5)
  }

  @Test func `the unfinished file of a crash is removed, unless another process locks it`() throws {
    let scratch = try Scratch()
    let path = scratch("login")
    try Self.replace(path, "old")
    scratch.write("hal", to: "login.new")
    try Self.replace(path, "new")
    #expect(try Self.text(path) == "new")
    #expect(try names(in: scratch.path) == ["login"])

    scratch.write("hal", to: "login.new")
    let other = open(scratch("login.new"), O_RDONLY | O_CLOEXEC)
    defer { close(other) }
    try #require(flock(other, LOCK_EX) == 0)
    do {
      try Self.replace(path, "newer")
      Issue.record("replaced")
    } catch let error as SystemError {
      #expect(error.isLockedByAnotherProcess)
    }
    #expect(try Self.text(path) == "new")
    #expect(try names(in: scratch.path) == ["login", "login.new"])
  }

  @Test func `a symbolic link in place of the unfinished file is not followed`() throws {
    let scratch = try Scratch()
    scratch.write("target", to: "target")
    symlink(scratch("target"), scratch("login.new"))
    #expect(throws: SystemError.self) { try Self.replace(scratch("login"), "new") }
    #expect(try Self.text(scratch("target")) == "target")
  }

  @Test func `removing a private file also removes its unfinished file`() throws {
    let scratch = try Scratch()
    let path = "\(scratch.path)/login"
    try Self.replace(path, "x")
    try Self.replace(path + ".new", "half")
    try PrivateFile.remove(path)
    #expect(try names(in: scratch.path) == [])
    try PrivateFile.remove(path)
    #expect(throws: SystemError.self) { try PrivateFile.remove("\(scratch.path)/none/login") }
    #expect(throws: SystemError.self) { try PrivateFile.remove("login") }
  }

  @Test func `an open reader keeps the complete old file`() throws {
    let scratch = try Scratch()
    let path = scratch("login")
    try Self.replace(path, "old")
    let reader = open(path, O_RDONLY | O_CLOEXEC)
    defer { close(reader) }
    try Self.replace(path, "new")
    var bytes = [UInt8](repeating: 0, count: 8)
    #expect(pread(reader, &bytes, 8, 0) == 3 && bytes.starts(with: "old".utf8))
    #expect(try Self.text(path) == "new")
  }

  @Test func `a process that is killed at any time leaves the complete old or new file`() async throws {
    let scratch = try Scratch()
    let path = scratch("login")
    try Self.replace(path, "first")
    for turn in 0..<12 as Range<UInt32> {
      await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, turn = turn as UInt32] in
        let memory = try PrivateFileTests.memory(String(repeating: turn.isMultiple(of: 2) ? "e" : "o", count: 9_000))
        let killer = BackgroundThread {
          usleep(300 * turn)
          kill(getpid(), SIGKILL)
        }
        killer.detach()
        while true { try? PrivateFile.replace(path, with: memory, count: 9_000) }
      }
      let text = try #require(try Self.text(path))
      #expect(text == "first" || text.utf8.count == 9_000 && Set(text).count == 1, "\(text.utf8.count) bytes")
    }
    try Self.replace(path, "end")
    #expect(try Self.text(path) == "end")
    #expect(try names(in: scratch.path) == ["login"])
  }
}

private func names(in directory: String) throws -> [String] {
  let stream = try #require(opendir(directory))
  defer { closedir(stream) }
  var names: [String] = []
  while let entry = readdir(stream) {
    let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    if name != ".", name != ".." { names.append(name) }
  }
  return names.sorted()
}
