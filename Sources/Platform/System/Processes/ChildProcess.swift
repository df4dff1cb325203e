internal import CLinux
internal import Glibc

/// A child process that ends when the thread that started it ends, even if this process is killed.
package final class ChildProcess {
  /// The read end of the program's standard error. Non-blocking.
  package let standardError: Int32
  package let processID: Int32
  private var isRunning = true

  /// Starts a program. If it cannot be executed, the child process exits with status 127.
  /// - Parameters:
  ///   - path: an absolute path.
  ///   - signalAtEnd: sent to the program when the thread that started it ends.
  ///   - user: the user and group of the program. `nil` for those of this process.
  package init(
    path: String, arguments: [String], signalAtEnd: Int32 = SIGKILL, as user: (uid: UInt32, gid: UInt32)? = nil
  ) throws(SystemError) {
    var ends: [Int32] = [-1, -1]
    try check(pipe(&ends), "pipe")
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
    var words = ([path] + arguments).map { strdup($0) }
    words.append(nil)
    processID = bearerd_spawn(path, words, ends[1], signalAtEnd, user?.uid ?? uid_t.max, user?.gid ?? gid_t.max)
    let reason = errno
    for word in words { free(word) }
    close(ends[1])
    standardError = ends[0]
    guard processID > 0 else {
      isRunning = false
      throw SystemError(operation: "fork", errno: reason)
    }
  }

  deinit {
    stop(gracePeriod: 0)
    close(standardError)
  }

  /// Sends SIGTERM, and SIGKILL after `gracePeriod` milliseconds. Returns when the program has ended.
  package func stop(gracePeriod: Int) {
    guard isRunning else { return }
    kill(processID, SIGTERM)
    var left = gracePeriod
    while left > 0, waitpid(processID, nil, WNOHANG) == 0 {
      usleep(10_000)
      left -= 10
    }
    if left <= 0 {
      kill(processID, SIGKILL)
      _ = retrying { waitpid(processID, nil, 0) }
    }
    isRunning = false
  }
}

/// Delivers signals through a descriptor (signalfd(2)), so that a program can wait for them with poll(2).
package final class SignalDescriptor {
  package let descriptor: Int32

  /// Makes `signals` readable through the descriptor, and blocks their normal delivery. Call this before starting
  /// threads.
  package init(_ signals: [Int32]) throws(SystemError) {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in signals { sigaddset(&set, signal) }
    pthread_sigmask(SIG_BLOCK, &set, nil)
    descriptor = try check(bearerd_signal_descriptor(&set), "signalfd")
  }

  deinit { close(descriptor) }

  /// Returns the next signal. `nil` if none has arrived.
  package func next() -> Int32? {
    var info = signalfd_siginfo()
    let size = MemoryLayout<signalfd_siginfo>.size
    return read(descriptor, &info, size) == size ? Int32(info.ssi_signo) : nil
  }
}
