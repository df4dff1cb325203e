internal import CLinux
internal import Glibc

/// Resolves a path step by step, and checks who can replace each directory and symbolic link (T61). Later calls do not
/// resolve the path again. Blocks, so do not use it on an event loop.
package final class FileWalk {
  package let path: String
  /// The first directory or link that another user could replace. `nil` if none was found.
  package private(set) var problem: PathProblem?
  /// The first directory or link that is safe only because its mount is read-only. `nil` if there is none.
  package private(set) var toleratedProblem: PathProblem?
  /// The error that ended the walk, and the path at which it occurred. `nil` if it has reached the end of the path.
  package private(set) var failure: (error: SystemError, step: String)?
  /// The status of the file or directory at the end of the path. `nil` if the walk has failed.
  package private(set) var status: FileStatus?
  private let user: UInt32
  private let followsLast: Bool
  /// A descriptor (O_PATH) of the directory that the walk has reached.
  private var directory: Int32 = -1
  private var location: [ArraySlice<UInt8>] = []
  private var links = 0
  /// The descriptor (O_PATH) of the file at the end of the path, and the file's name in `directory`. `nil` if the path
  /// ends with `directory` itself.
  private var end: (descriptor: Int32, name: ArraySlice<UInt8>)?

  private static let maximumLinks = 40  // the same limit as in the kernel
  private static let maximumAttempts = 3

  /// - Parameters:
  ///   - path: absolute, or relative to the working directory.
  ///   - user: the user who may own directories and links on the path. Root always may.
  ///   - followsLast: `false` if a symbolic link at the end is an error (ELOOP).
  package init(_ path: String, as user: UInt32 = geteuid(), followsLast: Bool = true) {
    self.path = path
    self.user = user
    self.followsLast = followsLast
    for _ in 0..<Self.maximumAttempts {
      reset()
      do throws(SystemError) {
        try walk()
        return
      } catch {
        failure = (error, text(of: location))
        // A link and its target may have been replaced during the walk.
        guard links > 0, error.isNotFound else { return }
      }
    }
  }

  deinit {
    if directory >= 0 { close(directory) }
    if let end { close(end.descriptor) }
  }

  private func reset() {
    if let end { close(end.descriptor) }
    (problem, toleratedProblem, failure, status, end, links) = (nil, nil, nil, nil, nil, 0)
  }

  // MARK: result

  /// Returns this walk, or throws EPERM if it has a `problem`.
  package func validated() throws(SystemError) -> FileWalk {
    guard let problem else { return self }
    throw SystemError(finding: "\(problem.message): \(problem.help)", errno: EPERM)
  }

  /// Opens the file for reading. Throws EINVAL unless it is a regular file.
  func open() throws(SystemError) -> Int32 {
    if let failure { throw failure.error }
    guard let end, status?.isRegular == true else { throw SystemError(operation: "not a regular file", errno: EINVAL) }
    let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW
    return try check(retrying { terminated(end.name) { openat(directory, $0, flags) } }, "open")
  }

  /// Returns the descriptor (O_PATH) of the directory at the end of the path, which this object owns. Throws ENOTDIR
  /// for other files.
  func directoryAtEnd() throws(SystemError) -> Int32 {
    if let failure { throw SystemError(operation: failure.step, errno: failure.error.errno) }
    guard status?.isDirectory == true else { throw SystemError(finding: "\(path) is not a directory", errno: ENOTDIR) }
    return end?.descriptor ?? directory
  }

  /// The kind of mount that the file at the end of the path is on. Unknown if the walk has failed.
  package var mount: MountKind {
    guard failure == nil else { return MountKind() }
    return MountKind(end?.descriptor ?? directory)
  }

  // MARK: steps

  private func walk() throws(SystemError) {
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
        evaluate(raw, step, at: location + [component])
        try resolveLink(step, component, &rest)
      } else if kind == S_IFDIR, !rest.isEmpty || component.elementsEqual("..".utf8) {
        enter(step, component, raw)
      } else {
        guard rest.isEmpty else {
          close(step)
          location.append(component)
          throw SystemError(operation: "open", errno: ENOTDIR)
        }
        if kind == S_IFDIR { evaluate(raw, step, at: location + [component]) }
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
    location = []
    enter(root, "/".utf8.dropFirst().map(\.self)[...], raw)
  }

  private func enter(_ step: Int32, _ component: ArraySlice<UInt8>, _ raw: stat) {
    if component.elementsEqual("..".utf8) {
      _ = location.popLast()
    } else if !component.isEmpty {
      location.append(component)
    }
    evaluate(raw, step, at: location)
    if directory >= 0 { close(directory) }
    directory = step
  }

  private func open(_ component: ArraySlice<UInt8>, isLast: Bool) throws(SystemError) -> Int32 {
    let flags = bearerd_path_only() | O_NOFOLLOW | O_CLOEXEC
    // An automount point is mounted only if it is opened as a directory.
    if !isLast {
      let step = retrying { terminated(component) { openat(directory, $0, flags | O_DIRECTORY) } }
      if step >= 0 || errno != ENOTDIR { return try checked(step, component) }
    }
    return try checked(retrying { terminated(component) { openat(directory, $0, flags) } }, component)
  }

  /// Returns `step` if it is a descriptor. Otherwise adds `component` to `location` for the error message, and throws.
  private func checked(_ step: Int32, _ component: ArraySlice<UInt8>) throws(SystemError) -> Int32 {
    guard step < 0 else { return step }
    let reason = errno
    location.append(component)
    throw SystemError(operation: "open", errno: reason)
  }

  private func resolveLink(
    _ link: Int32, _ component: ArraySlice<UInt8>, _ rest: inout [ArraySlice<UInt8>]
  ) throws(SystemError) {
    guard followsLast || !rest.isEmpty else {
      throw SystemError(finding: "\(text(of: location + [component])) is a symbolic link", errno: ELOOP)
    }
    links += 1
    var system = statfs()
    let isOfProcess = fstatfs(link, &system) != 0 || system.f_type == Self.procFileSystem
    // The text of a link in /proc is not its real target.
    guard links <= Self.maximumLinks, !isOfProcess else { throw SystemError(operation: "open", errno: ELOOP) }
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

  private func evaluate(_ raw: stat, _ step: Int32, at location: [ArraySlice<UInt8>]) {
    let mode = UInt32(raw.st_mode & 0o7777)
    let isLink = raw.st_mode & S_IFMT == S_IFLNK
    let isOurs = raw.st_uid == 0 || raw.st_uid == user
    if isOurs, isLink || mode & 0o022 == 0 || mode & 0o1000 != 0 { return }
    let found = PathProblem(
      path: path, step: text(of: location), owner: raw.st_uid, mode: mode,
      kind: isLink ? .link : isOurs ? .writable : .owner)
    if MountKind.isReadOnly(step) { toleratedProblem = toleratedProblem ?? found } else { problem = problem ?? found }
  }

  // MARK: names

  /// Returns the components in reverse order.
  private static func components(of path: [UInt8]) -> [ArraySlice<UInt8>] {
    path.split(separator: UInt8(ascii: "/")).filter { !$0.elementsEqual(".".utf8) }.reversed()
  }

  private func text(of location: [ArraySlice<UInt8>]) -> String {
    location.isEmpty ? "/" : location.map { "/" + String(decoding: $0, as: UTF8.self) }.joined()
  }
}

private func terminated<Result>(_ name: ArraySlice<UInt8>, _ body: (UnsafePointer<CChar>) -> Result) -> Result {
  let bytes = name.map { CChar(bitPattern: $0) } + [0]
  return bytes.withUnsafeBufferPointer { buffer in
    guard let start = buffer.baseAddress else { return body("") }
    return body(start)
  }
}
