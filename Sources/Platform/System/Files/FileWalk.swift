internal import CLinux
internal import Glibc

/// Goes to a file step by step, as the kernel would, and judges every directory and symbolic link on the way: a user who could
/// exchange one of them chooses what is read (T61). What was walked to is what is opened: no path is resolved twice.
///
/// A step is good if root or we own it, and no other user can write it. In a sticky directory an entry is exchanged by its owner
/// alone, and each entry is judged in turn. On a read-only mount nothing is exchanged.
///
/// Not for a loop: it takes as long as the file systems on the way take.
package final class FileWalk {
  package let path: String
  /// The first step that is not good; nil: all are, as far as they can be seen.
  package private(set) var problem: PathProblem?
  /// The first step that would not be good if its mount were not read-only.
  package private(set) var pardoned: PathProblem?
  /// Why the walk ended too early, and where; nil: it came to its end.
  package private(set) var failure: (error: SystemError, step: String)?
  /// The status of what stands at the end; nil: the walk did not come so far.
  package private(set) var status: FileStatus?
  private let user: UInt32
  private let followsLast: Bool
  /// The directory that the walk has come to (O_PATH), and its path.
  private var directory: Int32 = -1
  private var place: [ArraySlice<UInt8>] = []
  private var links = 0
  /// The file at the end (O_PATH), and its name in `directory`; without one, that is `directory` itself.
  private var end: (descriptor: Int32, name: ArraySlice<UInt8>)?

  private static let mostLinks = 40  // as the kernel
  private static let mostAttempts = 3

  /// - Parameters:
  ///   - path: absolute, or relative to the working directory.
  ///   - user: who "we" are.
  ///   - followsLast: false: a symbolic link at the end is a failure (ELOOP).
  package init(_ path: String, as user: UInt32 = geteuid(), followsLast: Bool = true) {
    self.path = path
    self.user = user
    self.followsLast = followsLast
    for _ in 0..<Self.mostAttempts {
      begin()
      do throws(SystemError) {
        try go()
        return
      } catch {
        failure = (error, text(of: place[...]))
        // A link may have been exchanged, and where it led to removed, while we were on the way.
        guard links > 0, error.isOfMissing else { return }
      }
    }
  }

  deinit {
    if directory >= 0 { close(directory) }
    if let end { close(end.descriptor) }
  }

  private func begin() {
    if let end { close(end.descriptor) }
    (problem, pardoned, failure, status, end, links) = (nil, nil, nil, nil, nil, 0)
  }

  // MARK: what was walked to

  /// Fails with what is wrong with the way (EPERM), if anything is.
  package func judged() throws(SystemError) -> FileWalk {
    guard let problem else { return self }
    throw SystemError(finding: "\(problem.message): \(problem.help)", errno: EPERM)
  }

  /// Opens the file for reading. EINVAL, as "not a regular file", if it is none: a pipe does not block, a device is not touched.
  func open() throws(SystemError) -> Int32 {
    if let failure { throw failure.error }
    guard let end, status?.isRegular == true else { throw SystemError(operation: "not a regular file", errno: EINVAL) }
    let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW
    return try check(retrying { terminated(end.name) { openat(directory, $0, flags) } }, "open")
  }

  /// A directory's descriptor (O_PATH), for as long as the walk is kept; ENOTDIR if it is none.
  func directoryAtEnd() throws(SystemError) -> Int32 {
    if let failure { throw SystemError(operation: failure.step, errno: failure.error.errno) }
    guard status?.isDirectory == true else { throw SystemError(finding: "\(path) is not a directory", errno: ENOTDIR) }
    return end?.descriptor ?? directory
  }

  /// The file at the end is on a read-only mount.
  package var isReadOnly: Bool {
    guard failure == nil else { return false }
    return Self.isReadOnly(end?.descriptor ?? directory)
  }

  /// The mount of the file at the end; nothing is known of one that was not reached.
  package var mount: MountKind {
    guard failure == nil else { return MountKind() }
    return MountKind(end?.descriptor ?? directory)
  }

  private static func isReadOnly(_ descriptor: Int32) -> Bool {
    var system = statvfs()
    return fstatvfs(descriptor, &system) == 0 && system.f_flag & UInt(ST_RDONLY) != 0
  }

  // MARK: steps

  private func go() throws(SystemError) {
    guard !path.utf8.contains(0) else { throw SystemError(operation: "open", errno: EINVAL) }
    var rest = Self.components(of: Array(FileReader.absolute(path).utf8))
    try enterRoot()
    while let component = rest.popLast() {
      let step = try open(component, isLast: rest.isEmpty)
      var raw = stat()
      guard fstat(step, &raw) == 0 else {
        let reason = errno
        close(step)
        throw SystemError(operation: "fstat", errno: reason)
      }
      let kind = raw.st_mode & S_IFMT
      if kind == S_IFLNK {
        defer { close(step) }
        judge(raw, step, at: place + [component])
        try follow(step, component, &rest)
      } else if kind == S_IFDIR, !rest.isEmpty || component.elementsEqual("..".utf8) {
        enter(step, component, raw)
      } else {
        guard rest.isEmpty else {
          close(step)
          place.append(component)
          throw SystemError(operation: "open", errno: ENOTDIR)
        }
        if kind == S_IFDIR { judge(raw, step, at: place + [component]) }
        (end, status) = ((step, component), FileStatus(raw))
        return
      }
    }
    status = try FileStatus(descriptor: directory)
  }

  private func enterRoot() throws(SystemError) {
    let root = try check(retrying { Glibc.open("/", bearerd_path_only() | O_DIRECTORY | O_CLOEXEC) }, "open")
    var raw = stat()
    _ = fstat(root, &raw)
    place = []
    enter(root, "/".utf8.dropFirst().map(\.self)[...], raw)
  }

  private func enter(_ step: Int32, _ component: ArraySlice<UInt8>, _ raw: stat) {
    if component.elementsEqual("..".utf8) { _ = place.popLast() } else if !component.isEmpty { place.append(component) }
    judge(raw, step, at: place)
    if directory >= 0 { close(directory) }
    directory = step
  }

  private func open(_ component: ArraySlice<UInt8>, isLast: Bool) throws(SystemError) -> Int32 {
    let flags = bearerd_path_only() | O_NOFOLLOW | O_CLOEXEC
    // A file system that is mounted when it is asked for, is asked for as a directory alone.
    if !isLast {
      let step = retrying { terminated(component) { openat(directory, $0, flags | O_DIRECTORY) } }
      if step >= 0 || errno != ENOTDIR { return try checked(step, component) }
    }
    return try checked(retrying { terminated(component) { openat(directory, $0, flags) } }, component)
  }

  /// A failure names the step.
  private func checked(_ step: Int32, _ component: ArraySlice<UInt8>) throws(SystemError) -> Int32 {
    guard step < 0 else { return step }
    let reason = errno
    place.append(component)
    throw SystemError(operation: "open", errno: reason)
  }

  private func follow(
    _ link: Int32, _ component: ArraySlice<UInt8>, _ rest: inout [ArraySlice<UInt8>]
  ) throws(SystemError) {
    guard followsLast || !rest.isEmpty else {
      throw SystemError(finding: "\(text(of: place + [component])) is a symbolic link", errno: ELOOP)
    }
    links += 1
    var system = statfs()
    let isOfProcess = fstatfs(link, &system) != 0 || system.f_type == Self.procFileSystem
    // Links of /proc do not say where they lead.
    guard links <= Self.mostLinks, !isOfProcess else { throw SystemError(operation: "open", errno: ELOOP) }
    var target = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = target.withUnsafeMutableBytes { buffer in
      buffer.bindMemory(to: CChar.self).baseAddress.map { readlinkat(link, "", $0, buffer.count) } ?? 0
    }
    guard count > 0 else { throw SystemError(operation: "readlink", errno: count < 0 ? errno : ENOENT) }
    target.removeLast(target.count - count)
    rest += Self.components(of: target)
    if target.first == UInt8(ascii: "/") { try enterRoot() }
  }

  private static let procFileSystem = 0x9FA0

  private func judge(_ raw: stat, _ descriptor: Int32, at place: [ArraySlice<UInt8>]) {
    let mode = UInt32(raw.st_mode & 0o7777)
    let isLink = raw.st_mode & S_IFMT == S_IFLNK
    let isOurs = raw.st_uid == 0 || raw.st_uid == user
    if isOurs, isLink || mode & 0o022 == 0 || mode & 0o1000 != 0 { return }
    let found = PathProblem(
      path: path, step: text(of: place[...]), owner: raw.st_uid, mode: mode,
      kind: isLink ? .link : isOurs ? .writable : .owner)
    if Self.isReadOnly(descriptor) { pardoned = pardoned ?? found } else { problem = problem ?? found }
  }

  // MARK: names

  /// The last one first.
  private static func components(of path: [UInt8]) -> [ArraySlice<UInt8>] {
    path.split(separator: UInt8(ascii: "/")).filter { !$0.elementsEqual(".".utf8) }.reversed()
  }

  private func text(of place: ArraySlice<ArraySlice<UInt8>>) -> String {
    place.isEmpty ? "/" : place.map { "/" + String(decoding: $0, as: UTF8.self) }.joined()
  }

  private func text(of place: [ArraySlice<UInt8>]) -> String { text(of: place[...]) }
}

/// The name as C reads it.
private func terminated<Result>(_ name: ArraySlice<UInt8>, _ body: (UnsafePointer<CChar>) -> Result) -> Result {
  let bytes = name.map { CChar(bitPattern: $0) } + [0]
  return bytes.withUnsafeBufferPointer { buffer in
    guard let start = buffer.baseAddress else { return body("") }
    return body(start)
  }
}
