import Glibc
import Testing

@testable import System

@Suite struct FileReaderTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  @Test(arguments: ["", "x", "0123456789"])
  func `a regular file is read completely, with its status`(_ text: String) throws {
    scratch.write(text, to: "file", mode: 0o640)
    symlink("file", scratch("link"))
    for name in ["file", "link"] {
      let (bytes, status) = try FileReader.read(path: scratch(name), maximum: 10)
      #expect(bytes == Array(text.utf8))
      #expect(status == FileStatus(path: scratch("file")))
      #expect(status.owner == geteuid() && status.isRegular && !status.isDirectory)
      #expect(status.mode == 0o640 & ~currentUmask() && status.size == text.utf8.count)
    }
  }

  @Test func `a file larger than the maximum is refused`() throws {
    scratch.write("0123456789", to: "file")
    #expect(error { try FileReader.read(path: scratch("file"), maximum: 9) } == EFBIG)
    #expect(error { try FileReader.read(path: scratch("file"), maximum: -1) } == EFBIG)
  }

  /// T44. Opening these paths does not block.
  @Test(arguments: ["directory", "fifo", "device", "socket", "magic", "missing", "dangling", "nul"])
  func `a path that is not a regular file is refused`(_ kind: String) throws {
    let memory = try LockedMemory(byteCount: 64)
    memory.bytes[0] = 1
    scratch.write("secret", to: "file")
    let open = Glibc.open(scratch("file"), O_RDONLY)
    defer { close(open) }
    var (path, expected) = (scratch(kind), EINVAL)
    switch kind {
    case "directory": mkdir(path, 0o700)
    case "fifo": mkfifo(path, 0o600)
    case "device": path = "/dev/zero"
    case "socket":
      close(try UnixSocket.listen(path: path, mode: 0o600, group: nil, backlog: 1))
      expected = ENXIO
    case "magic": (path, expected) = ("/proc/self/fd/\(open)", ELOOP)
    case "dangling":
      symlink("nowhere", path)
      expected = ENOENT
    case "nul": path = scratch("file") + "\0.txt"
    default: expected = ENOENT
    }
    #expect(error { try FileReader.read(path: path, maximum: 64) } == expected)
    // A walk checks the type before it opens the file.
    let walked = kind == "socket" ? EINVAL : expected
    #expect(error { try FileReader.read(FileWalk(path), into: memory) } == walked)
    #expect(memory.bytes.allSatisfy { $0 == 0 })
  }

  @Test func `a secret is read into locked memory completely or not at all`() throws {
    scratch.write("0123456789", to: "file")
    let memory = try LockedMemory(byteCount: 10)
    let (count, status) = try FileReader.read(FileWalk(scratch("file")), into: memory)
    #expect(count == 10 && status.size == 10)
    #expect(memory.bytes.elementsEqual("0123456789".utf8))
    scratch.write("0123456789a", to: "file")
    #expect(error { try FileReader.read(FileWalk(scratch("file")), into: memory) } == EFBIG)
    #expect(memory.bytes.allSatisfy { $0 == 0 })
  }

  @Test(.enabled(if: isRoot)) func `a file without read permission is refused`() async {
    await #expect(processExitsWith: .success) {
      let scratch = try Scratch()
      scratch.write("secret", to: "file", mode: 0o600)
      chmod(scratch.path, 0o711)
      seteuid(65534)
      try expect(error { try FileReader.read(path: scratch("file"), maximum: 10) } == EACCES)
      try expect(FileStatus(path: scratch("file"))?.owner == 0)
      seteuid(0)
    }
  }

  @Test func `an error names the failed operation and its cause`() {
    #expect(SystemError(operation: "mlock", errno: ENOMEM).description == "mlock: Cannot allocate memory")
    #expect(FileStatus(path: "/nonexistent") == nil)
  }
}

@Suite struct DirectoryWatchTests {
  let scratch: Scratch
  let watch: DirectoryWatch

  init() throws {
    scratch = try Scratch()
    watch = try DirectoryWatch()
    scratch.write("old", to: "a")
    try watch.add(directory: scratch.path)
  }

  @Test func `reading a file reports no change`() {
    _ = try? FileReader.read(path: scratch("a"), maximum: 10)
    #expect(names.isEmpty)
    #expect(fcntl(watch.descriptor, F_GETFL) & O_NONBLOCK != 0)
    #expect(fcntl(watch.descriptor, F_GETFD) & FD_CLOEXEC != 0)
  }

  @Test func `a new file is reported when it is closed, not while it is written`() {
    let descriptor = open(scratch("new"), O_WRONLY | O_CREAT, 0o600)
    #expect(write(descriptor, "half", 4) == 4)
    #expect(names.isEmpty)
    close(descriptor)
    #expect(names == ["new"])
  }

  @Test func `a file that is moved into or out of the directory is reported`() {
    mkdir(scratch("elsewhere"), 0o700)
    scratch.write("new", to: "elsewhere/a")
    #expect(names.isEmpty)
    rename(scratch("elsewhere/a"), scratch("a"))
    #expect(names == ["a"])
    rename(scratch("a"), scratch("elsewhere/a"))
    #expect(names == ["a"])
  }

  @Test func `a removed file and a changed mode are reported`() {
    chmod(scratch("a"), 0o644)
    #expect(names == ["a"])
    unlink(scratch("a"))
    #expect(names == ["a"])
  }

  /// The kubelet publishes a volume by renaming a link over `..data`.
  @Test func `a replaced symbolic link is reported`() {
    symlink("a", scratch("..data_tmp"))
    _ = names
    rename(scratch("..data_tmp"), scratch("..data"))
    #expect(names.contains("..data"))
    unlink(scratch("..data"))
    symlink("a", scratch("..data"))
    #expect(names == ["..data"])
    link(scratch("a"), scratch("hard"))
    #expect(names.contains("hard"))
  }

  @Test func `a removed directory is reported, and can be watched again`() throws {
    let path = scratch("sub")
    for away in ["remove", "rename"] {
      mkdir(path, 0o700)
      try watch.add(directory: path)
      _ = watch.changes()
      if away == "remove" { rmdir(path) } else { rename(path, scratch("moved")) }
      #expect(watch.changes().contains(DirectoryWatch.Change(directory: path, name: "")))
      if away == "rename" { scratch.write("x", to: "moved/x") }
      #expect(!watch.changes().contains { $0.directory == path })
    }
    mkdir(path, 0o700)
    try watch.add(directory: path)
    scratch.write("x", to: "sub/x")
    #expect(watch.changes().contains { $0.directory == path && $0.name == "x" })
  }

  @Test func `a directory with two names is reported once under each name`() throws {
    try watch.add(directory: scratch.path)
    try watch.add(directory: scratch("."))
    scratch.write("new", to: "b")
    #expect(watch.changes().filter { !$0.isNew }.map(\.directory).sorted() == [scratch.path, scratch(".")])
  }

  @Test func `a removed watch reports nothing, and can be added again`() throws {
    scratch.write("new", to: "a")
    watch.keep(only: [])
    scratch.write("newer", to: "a")
    #expect(watch.changes().isEmpty)
    try watch.add(directory: scratch.path)
    scratch.write("newest", to: "a")
    #expect(names == ["a"])
  }

  @Test func `T55: a change between adding and registering a watch is not lost`() throws {
    mkdir(scratch("sub"), 0o700)
    let first = try watch.adder.add(scratch("sub")).get()
    scratch.write("x", to: "sub/x")
    #expect(watch.changes().filter { $0.directory == scratch("sub") }.isEmpty)
    #expect(!watch.register(scratch("sub"), as: first), "the directory changed after the watch was added")
    #expect(watch.register(scratch("sub"), as: try watch.adder.add(scratch("sub")).get()))

    mkdir(scratch("gone"), 0o700)
    let gone = try watch.adder.add(scratch("gone")).get()
    rmdir(scratch("gone"))
    _ = watch.changes()
    #expect(!watch.register(scratch("gone"), as: gone), "the directory is gone")
  }

  @Test func `a link that leads to a new directory is watched only there`() throws {
    for name in ["one", "two"] { mkdir(scratch(name), 0o700) }
    symlink("one", scratch("link"))
    try watch.add(directory: scratch("link"))
    unlink(scratch("link"))
    symlink("two", scratch("link"))
    #expect(!watch.register(scratch("link"), as: try watch.adder.add(scratch("link")).get()), "the link changed")
    _ = watch.changes()
    scratch.write("x", to: "one/x")
    #expect(watch.changes().isEmpty)
    scratch.write("x", to: "two/x")
    #expect(watch.changes().contains { $0.directory == scratch("link") && $0.name == "x" })
  }

  @Test func `every directory is reported as changed after the kernel's queue overflows`() throws {
    mkdir(scratch("sub"), 0o700)
    try watch.add(directory: scratch("sub"))
    for turn in 0..<40_000 { chmod(scratch(turn % 2 == 0 ? "a" : "sub"), turn % 4 < 2 ? 0o700 : 0o711) }
    var changes: [DirectoryWatch.Change] = []
    while case let more = watch.changes(), !more.isEmpty { changes += more }
    #expect(changes.contains(DirectoryWatch.Change(directory: scratch.path, name: "")))
    #expect(changes.contains(DirectoryWatch.Change(directory: scratch("sub"), name: "")))
  }

  @Test func `watching a path that is not a directory fails`() {
    #expect(error { try watch.add(directory: scratch("a")) } == ENOTDIR)
    #expect(error { try watch.add(directory: scratch("missing")) } == ENOENT)
  }

  private var names: [String] {
    var names: [String] = []
    for change in watch.changes() where names.last != change.name {
      if !change.isNew || DirectoryWatch.isLink("\(change.directory)/\(change.name)") { names.append(change.name) }
    }
    return names
  }
}

extension DirectoryWatch {
  fileprivate func add(directory: String) throws { _ = register(directory, as: try adder.add(directory).get()) }
}

/// The errno that `body` throws, 0 if it throws nothing.
func error<Value>(_ body: () throws -> Value) -> Int32 {
  do {
    _ = try body()
    return 0
  } catch {
    return (error as? SystemError)?.errno ?? -1
  }
}

func currentUmask() -> UInt32 {
  // Calling umask(2) would affect other tests.
  guard let file = fopen("/proc/self/status", "r") else { return 0 }
  defer { fclose(file) }
  var (line, capacity) = (UnsafeMutablePointer<CChar>?.none, 0)
  defer { free(line) }
  while getline(&line, &capacity, file) > 0, let text = line.map({ String(cString: $0) }) {
    if text.hasPrefix("Umask:") { return UInt32(text.dropFirst(6).filter(\.isNumber), radix: 8) ?? 0 }
  }
  return 0
}

@Suite struct AppendFileTests {
  @Test func `a closed file is unlocked, although a child process still has its descriptor`() throws {
    let scratch = try Scratch()
    var file: AppendFile? = try AppendFile(path: scratch("audit"))
    let inherited = dup(try #require(file).content.descriptor)
    defer { close(inherited) }
    #expect(error { try AppendFile(path: scratch("audit")) } == EWOULDBLOCK)
    file = nil
    _ = try AppendFile(path: scratch("audit"))
  }
}
