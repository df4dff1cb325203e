package import Foundation

/// A child process. Foundation's `Process` does not fit: other children can inherit its exit descriptor, and it passes
/// on the signal mask of a worker thread.
package final class Child {
  package let pid: pid_t
  private var status: Int32?

  /// Starts the process with default signals. The child inherits only the three standard descriptors (`nil` means
  /// /dev/null), and `passed` from 3 on. A passed descriptor must be higher than its number in the child.
  package init(
    _ path: String, _ arguments: [String], environment: [String: String], input: Int32? = nil, output: Int32? = nil,
    errors: Int32? = nil, passed: [Int32] = []
  ) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (target, source) in [input, output, errors].enumerated() {
      let target = Int32(target)
      if let source {
        posix_spawn_file_actions_adddup2(&actions, source, target)
      } else {
        posix_spawn_file_actions_addopen(&actions, target, "/dev/null", target == 0 ? O_RDONLY : O_WRONLY, 0)
      }
    }
    for (index, descriptor) in passed.enumerated() {
      posix_spawn_file_actions_adddup2(&actions, descriptor, 3 + Int32(index))
    }
    _ = closeFrom(&actions, 3 + Int32(passed.count))

    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var (none, all) = (sigset_t(), sigset_t())
    sigemptyset(&none)
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

    let words = ([path] + arguments).map { strdup($0) } + [nil]
    // For the coverage of children, and for the sanitizers' options.
    let inherited = ProcessInfo.processInfo.environment.filter {
      ["LLVM_PROFILE_FILE", "LSAN_OPTIONS", "TSAN_OPTIONS"].contains($0.key)
    }
    let variables = environment.merging(inherited) { $1 }.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for text in words + variables { free(text) } }
    var pid = pid_t()
    let result = posix_spawn(&pid, path, &actions, &attributes, words, variables)
    guard result == 0 else { throw TestFailure("\(path): \(String(cString: strerror(result)))") }
    self.pid = pid
  }

  deinit {
    kill(SIGKILL)
    _ = wait()
  }

  package func kill(_ signal: Int32) {
    if status == nil { _ = Glibc.kill(pid, signal) }
  }

  package var isRunning: Bool {
    var raw: Int32 = 0
    if status == nil, waitpid(pid, &raw, WNOHANG) == pid { ended(raw) }
    return status == nil
  }

  /// Waits for the exit status, which is the negative signal after a death by signal. Kills the process after
  /// `seconds`.
  package func wait(seconds: Double = 60) -> Int32 {
    if eventually(seconds: seconds, { !isRunning }), let status { return status }
    kill(SIGKILL)
    if let status { return status }
    var raw: Int32 = 0
    while waitpid(pid, &raw, 0) < 0, errno == EINTR {}
    return ended(raw)
  }

  @discardableResult
  private func ended(_ raw: Int32) -> Int32 {
    let signal = raw & 0x7F
    let ended = signal == 0 ? (raw >> 8) & 0xFF : -signal
    status = ended
    return ended
  }
}

/// posix_spawn_file_actions_addclosefrom_np(3), which the headers declare only with `_GNU_SOURCE`.
private let closeFrom = unsafeBitCast(
  dlsym(nil, "posix_spawn_file_actions_addclosefrom_np"),
  to: (@convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32).self)
