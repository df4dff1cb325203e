internal import CLinux
internal import Glibc

/// A program that prints a secret to its standard output (T42). Runs without a shell, in its own session, with a
/// minimal environment. Only `deinit` can block.
package final class HelperProcess {
  package enum Termination: Sendable, Equatable { case status(Int32), signal(Int32) }

  /// The result of `readOutput`: `more` may follow, the output is `complete`, or it exceeds the limit (`tooMuch`).
  package enum Progress: Sendable, Equatable { case more, complete, tooMuch }

  /// The read end of the program's standard output (non-blocking). When it is readable, call `readOutput()`.
  package let output: Int32
  /// The read end of the program's standard error (non-blocking). When it is readable, call `discardErrors()`.
  package let errors: Int32
  /// The program's pidfd. When it is readable, the program has ended, and `termination()` returns a result.
  package let exit: Int32

  /// Number of bytes of the program's standard error that `discardErrors()` has discarded so far.
  package private(set) var errorCount = 0

  private let processID: pid_t
  private let devNull: Int32
  private let limit: Int
  private let mustLock: Bool
  private var memory: LockedMemory
  private var count = 0
  private var isReaped = false

  /// Initial size of the output memory, in bytes.
  private static let usualSize = 4096

  /// - Parameters:
  ///   - words: the absolute path of the program, and its arguments.
  ///   - variables: `NAME=value`, added to PATH, HOME and LANG.
  ///   - passing: names of variables of this process, which the program also gets. Variables that are not set are left out.
  ///   - input: the complete standard input. `nil` for /dev/null. Throws EAGAIN if it does not fit into a pipe.
  ///   - limit: maximum number of output bytes. With more, `readOutput()` returns `tooMuch`.
  ///   - mustLock: whether to throw if memory for the output cannot be locked.
  package init(
    words: [String], variables: [String] = [], passing: [String] = [], input: UnsafeRawBufferPointer? = nil,
    limit: Int, mustLock: Bool = false
  ) throws(SystemError) {
    self.limit = limit
    self.mustLock = mustLock
    memory = try LockedMemory(byteCount: min(Self.usualSize, limit + 1), mustLock: mustLock)
    let source = try input.map { (bytes) throws(SystemError) in try filledPipe(bytes) }
    defer { if let source { close(source) } }
    let parts = try openDescriptors()
    (devNull, output, errors) = (parts[0], parts[1], parts[3])
    let arguments = words.map { strdup($0) } + [nil]
    let passed = passing.compactMap { Self.entry(of: $0) }
    let environment = (Self.environment + variables).map { strdup($0) } + passed + [nil]
    processID = bearerd_spawn_helper(
      words.first ?? "", arguments, environment, source ?? devNull, parts[2], parts[4])
    var reason = errno
    // A passed value may be a secret.
    for text in passed { explicit_bzero(text, strlen(text)) }
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
    for descriptor in [devNull, output, errors, exit] where descriptor >= 0 { close(descriptor) }
  }

  /// Looks up the home directory in advance, because a slow directory service would delay the first program.
  package static func prepare() { _ = environment }

  /// The environment of all helper programs, which bearerd's own environment cannot influence.
  private static let environment = ["PATH=/usr/bin:/bin", "HOME=\(Users.home ?? "/")", "LANG=C"]

  /// Returns a copy of a variable of this process, as `NAME=value`. `nil` if the variable is not set.
  private static func entry(of name: String) -> UnsafeMutablePointer<CChar>? {
    // Not a String, because the value may be a secret.
    guard let value = getenv(name) else { return nil }
    let start = name.utf8.count + 1
    let count = strlen(value) + 1
    guard let entry = malloc(start + count)?.assumingMemoryBound(to: CChar.self) else { return nil }
    for (index, byte) in "\(name)=".utf8.enumerated() { entry[index] = CChar(bitPattern: byte) }
    memcpy(entry + start, value, count)
    return entry
  }

  // MARK: what it says

  /// Reads available output from the pipe directly into locked memory.
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

  /// Calls `body` with the output. The buffer is valid only during the call.
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

  /// Discards available error output, and counts its bytes. Returns `false` when no more can follow.
  package func discardErrors() -> Bool {
    let moved = retrying { bearerd_splice(errors, devNull, 65_536) }
    if moved > 0 { errorCount += moved }
    return moved > 0 || (moved < 0 && errno == EAGAIN)
  }

  // MARK: termination

  /// Sends SIGKILL to the program and to its process group.
  package func kill() {
    // After reaping, another process may have this number.
    guard !isReaped else { return }
    Glibc.kill(-processID, SIGKILL)
    // In case the program has no process group of its own yet.
    Glibc.kill(processID, SIGKILL)
  }

  /// Returns how the program ended, and kills the rest of its process group. `nil` while the program is running.
  package func termination() -> Termination? {
    var entry = pollfd(fd: exit, events: Int16(POLLIN), revents: 0)
    guard !isReaped, poll(&entry, 1, 0) > 0 else { return nil }
    kill()
    var status: Int32 = 0
    let reaped = retrying { waitpid(processID, &status, WNOHANG) }
    guard reaped != 0 else { return nil }
    isReaped = true
    // Another thread has reaped the process, so the status is unknown.
    guard reaped > 0 else { return .signal(0) }
    let signal = status & 0x7F
    return signal == 0 ? .status((status >> 8) & 0xFF) : .signal(signal)
  }
}

/// Returns the read end of a pipe that contains all of `bytes`, and whose write end is closed.
private func filledPipe(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int32 {
  var ends: [Int32] = [-1, -1]
  guard pipe(&ends) == 0 else { throw SystemError(operation: "pipe", errno: errno) }
  // Avoids descriptors 0 to 2, even if one of them is closed in this process.
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

/// Opens /dev/null and two pipes, and returns their descriptors in this order. None is 0, 1 or 2.
private func openDescriptors() throws(SystemError) -> [Int32] {
  var (outputPipe, errorPipe): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
  let null = open("/dev/null", O_RDWR | O_CLOEXEC)
  guard null >= 0, pipe(&outputPipe) == 0, pipe(&errorPipe) == 0 else {
    let reason = errno
    for descriptor in [null] + outputPipe where descriptor >= 0 { close(descriptor) }
    throw SystemError(operation: "pipe", errno: reason)
  }
  let opened = [null] + outputPipe + errorPipe
  let raised = opened.map { fcntl($0, F_DUPFD_CLOEXEC, 3) }
  let reason = errno
  for descriptor in opened { close(descriptor) }
  guard !raised.contains(-1) else {
    for descriptor in raised where descriptor >= 0 { close(descriptor) }
    throw SystemError(operation: "fcntl", errno: reason)
  }
  for end in [raised[1], raised[3]] { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
  return raised
}
