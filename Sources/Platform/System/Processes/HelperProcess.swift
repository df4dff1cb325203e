internal import CLinux
internal import Glibc

/// A program that says a secret on its standard output (T42). No shell, no search in PATH; a session of its own; an
/// environment of three variables and those that it is given, and no descriptor but its pipes. Nothing here waits, but for the
/// end of one that is still there when this object goes.
package final class HelperProcess {
  /// How it ended: its exit status, or the signal that ended it.
  package enum End: Sendable, Equatable { case status(Int32), signal(Int32) }

  /// The result of `readOutput`: more may come, all has come, or it is more than was asked for.
  package enum Progress: Sendable, Equatable { case more, complete, tooMuch }

  /// Non-blocking; readable when there is something for `readOutput()`, `discardErrors()` and `end()`.
  package let output: Int32
  package let errors: Int32
  package let exit: Int32

  /// Bytes that it has written to its standard error. They are never read: they may be the secret.
  package private(set) var errorCount = 0

  private let processID: pid_t
  private let nowhere: Int32
  private let limit: Int
  private let mustLock: Bool
  private var memory: LockedMemory
  private var count = 0
  private var isReaped = false

  /// One page does for nearly all.
  private static let usualSize = 4096

  /// - Parameters:
  ///   - words: the program by its absolute path, and its arguments. One that cannot be started ends at once with 126 or 127.
  ///   - variables: `NAME=value`, besides the three that each gets.
  ///   - input: all that it can read on its standard input; nil: /dev/null. EAGAIN if it does not fit into a pipe, which holds
  ///     one page at least, and mostly 64 KiB.
  ///   - limit: bytes of output.
  ///   - mustLock: read it into locked memory, or not at all.
  package init(
    words: [String], variables: [String] = [], input: UnsafeRawBufferPointer? = nil, limit: Int, mustLock: Bool = false
  ) throws(SystemError) {
    self.limit = limit
    self.mustLock = mustLock
    memory = try LockedMemory(byteCount: min(Self.usualSize, limit + 1), mustLock: mustLock)
    let source = try input.map { (bytes) throws(SystemError) in try filledPipe(bytes) }
    defer { if let source { close(source) } }
    let parts = try openDescriptors()
    (nowhere, output, errors) = (parts[0], parts[1], parts[3])
    let arguments = words.map { strdup($0) } + [nil]
    let environment = (Self.environment + variables).map { strdup($0) } + [nil]
    processID = bearerd_spawn_helper(
      words.first ?? "", arguments, environment, source ?? nowhere, parts[2], parts[4])
    var reason = errno
    for text in arguments + environment { free(text) }
    for end in [parts[2], parts[4]] { close(end) }
    exit = processID > 0 ? bearerd_pidfd(processID) : -1
    if processID > 0, exit < 0 { reason = errno }
    guard exit >= 0 else {
      if processID > 0 {
        kill()
        _ = retrying { waitpid(processID, nil, 0) }
      }
      isReaped = true
      throw SystemError(operation: processID > 0 ? "pidfd_open" : "fork", errno: reason)
    }
  }

  deinit {
    kill()
    if !isReaped { _ = retrying { waitpid(processID, nil, 0) } }
    for descriptor in [nowhere, output, errors, exit] where descriptor >= 0 { close(descriptor) }
  }

  /// Asks for our home, which may take as long as a directory service takes, so that no program's start has to.
  package static func prepare() { _ = environment }

  /// Fixed, so that nothing that we were started with has a say in what a helper does.
  private static let environment = ["PATH=/usr/bin:/bin", "HOME=\(Users.home ?? "/")", "LANG=C"]

  // MARK: what it says

  /// From the pipe into locked memory, and nowhere else.
  package func readOutput() throws(SystemError) -> Progress {
    while true {
      if count > limit { return .tooMuch }
      if count == memory.bytes.count { try grow() }
      let room = memory.bytes[count...]
      let read = retrying { Glibc.read(output, room.base.baseAddress?.advanced(by: count), room.count) }
      if read < 0, errno == EAGAIN { return .more }
      guard read >= 0 else { throw SystemError(operation: "read", errno: errno) }
      if read == 0 { return .complete }
      count += read
    }
  }

  /// Borrowed for the call.
  package func withOutput<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(rebasing: memory.bytes[..<count]))
  }

  package var isLocked: Bool { memory.isLocked }

  private func grow() throws(SystemError) {
    let larger = try LockedMemory(byteCount: limit + 1, mustLock: mustLock)
    larger.bytes.copyMemory(from: UnsafeRawBufferPointer(memory.bytes))
    memory = larger
  }

  /// Counts what is there and drops it, inside the kernel. False when no more can come.
  package func discardErrors() -> Bool {
    let moved = retrying { bearerd_splice(errors, nowhere, 65_536) }
    if moved > 0 { errorCount += moved }
    return moved > 0 || (moved < 0 && errno == EAGAIN)
  }

  // MARK: its end

  /// SIGKILL for it and for everything that it started and that has not left its process group.
  package func kill() {
    // Once it is reaped, its number may be another process's
    guard !isReaped else { return }
    Glibc.kill(-processID, SIGKILL)
    // Before it has a group of its own
    Glibc.kill(processID, SIGKILL)
  }

  /// nil: it still runs. What it leaves behind in its process group is killed.
  package func end() -> End? {
    var entry = pollfd(fd: exit, events: Int16(POLLIN), revents: 0)
    guard !isReaped, poll(&entry, 1, 0) > 0 else { return nil }
    kill()
    var status: Int32 = 0
    let reaped = retrying { waitpid(processID, &status, WNOHANG) }
    guard reaped != 0 else { return nil }
    isReaped = true
    // Another thread has fetched it; how it ended is unknown
    guard reaped > 0 else { return .signal(0) }
    let signal = status & 0x7F
    return signal == 0 ? .status((status >> 8) & 0xFF) : .signal(signal)
  }
}

/// The end to read from of a pipe that has all of it, and that cannot be written to any more: what is secret in it is in the
/// kernel's memory only, which is never swapped out.
private func filledPipe(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int32 {
  var ends: [Int32] = [-1, -1]
  guard pipe(&ends) == 0 else { throw SystemError(operation: "pipe", errno: errno) }
  // None of the three that a program begins with, in case one of ours is missing
  let (source, target) = (fcntl(ends[0], F_DUPFD_CLOEXEC, 3), fcntl(ends[1], F_DUPFD_CLOEXEC, 3))
  var reason = errno
  for end in ends { close(end) }
  defer { if target >= 0 { close(target) } }
  guard source >= 0, target >= 0 else {
    if source >= 0 { close(source) }
    throw SystemError(operation: "fcntl", errno: reason)
  }
  _ = fcntl(target, F_SETFL, O_NONBLOCK)
  let written = retrying { Glibc.write(target, bytes.baseAddress, bytes.count) }
  reason = written < 0 ? errno : EAGAIN
  guard written == bytes.count else {
    close(source)
    throw SystemError(operation: "write", errno: reason)
  }
  return source
}

/// /dev/null, and two pipes, of which each first end is ours and does not block. They close when a program is started, and are
/// none of the three that it begins with, in case one of ours is missing.
private func openDescriptors() throws(SystemError) -> [Int32] {
  var (one, other): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
  let null = open("/dev/null", O_RDWR | O_CLOEXEC)
  guard null >= 0, pipe(&one) == 0, pipe(&other) == 0 else {
    let reason = errno
    for descriptor in [null] + one where descriptor >= 0 { close(descriptor) }
    throw SystemError(operation: "pipe", errno: reason)
  }
  let found = [null] + one + other
  let raised = found.map { fcntl($0, F_DUPFD_CLOEXEC, 3) }
  let reason = errno
  for descriptor in found { close(descriptor) }
  guard !raised.contains(-1) else {
    for descriptor in raised where descriptor >= 0 { close(descriptor) }
    throw SystemError(operation: "fcntl", errno: reason)
  }
  for end in [raised[1], raised[3]] { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
  return raised
}
