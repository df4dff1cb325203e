internal import CLinux
internal import Glibc

/// The environment as it was given. Secrets never come from here through a String.
package enum ProcessEnvironment {
  package static func value(_ name: String) -> String? {
    guard let pointer = getenv(name) else { return nil }
    let text = String(cString: pointer)
    return text.isEmpty ? nil : text
  }
}

package enum StandardOutput {
  /// Blocks until it is written, or the reader is gone.
  package static func print(_ text: String) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let written = bytes.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
      if written < 0, errno == EINTR { continue }
      if written <= 0 { return }
      bytes = bytes.dropFirst(written)
    }
  }
}

package enum Process {
  package static func exit(_ code: Int32) -> Never { Glibc.exit(code) }

  /// Becomes another program, with this process's descriptors and children. Its name is looked for in `PATH`, as a shell does.
  /// - Parameters:
  ///   - words: its name and its arguments.
  ///   - changes: variables that it gets; `nil`: one that it does not get.
  /// - Returns: why it could not be started.
  package static func become(_ words: [String], changes: [(name: String, value: String?)]) -> SystemError {
    for (name, value) in changes {
      if let value { setenv(name, value, 1) } else { unsetenv(name) }
    }
    var arguments = words.map { strdup($0) }
    arguments.append(nil)
    execvp(words[0], arguments)
    let reason = errno
    for argument in arguments { free(argument) }
    return SystemError(operation: words[0], errno: reason)
  }
}

extension CallerIdentity {
  /// Whether the peer of a unix socket has closed it altogether, not just its sending half.
  package static func hasHungUp(descriptor: Int32) -> Bool {
    var entry = pollfd(fd: descriptor, events: 0, revents: 0)
    return poll(&entry, 1, 0) > 0 && entry.revents & Int16(POLLHUP | POLLERR) != 0
  }
}
