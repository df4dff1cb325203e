internal import CLinux
internal import Glibc

/// A program that ends no later than the thread that started it, even if we are killed.
package final class ChildProcess {
  /// The end of its standard error to read from; non-blocking.
  package let standardError: Int32
  package let processID: Int32
  private var isRunning = true

  /// `path` is absolute. A program that cannot be started ends at once with status 127.
  /// - Parameters:
  ///   - signalAtEnd: the signal that it gets when the thread ends that started it.
  ///   - user: the user that it runs as, and the user's group; `nil`: this one.
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
    stop(patience: 0)
    close(standardError)
  }

  package func send(signal: Int32) {
    if isRunning { kill(processID, signal) }
  }

  /// SIGTERM, and SIGKILL if it is still there after `patience` milliseconds. Returns when it has ended.
  package func stop(patience: Int) {
    guard isRunning else { return }
    kill(processID, SIGTERM)
    var left = patience
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

/// Signals as something to read, so that a program that waits has one place where it hears of them.
package final class SignalDescriptor {
  /// Readable when one came.
  package let descriptor: Int32

  /// From now on `signals` do nothing else in this thread and in those that it starts.
  package init(_ signals: [Int32]) throws(SystemError) {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in signals { sigaddset(&set, signal) }
    pthread_sigmask(SIG_BLOCK, &set, nil)
    descriptor = try check(bearerd_signal_descriptor(&set), "signalfd")
  }

  deinit { close(descriptor) }

  /// The signal that came, or nil.
  package func next() -> Int32? {
    var info = signalfd_siginfo()
    let size = MemoryLayout<signalfd_siginfo>.size
    return read(descriptor, &info, size) == size ? Int32(info.ssi_signo) : nil
  }
}
