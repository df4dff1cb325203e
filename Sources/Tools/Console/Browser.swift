internal import Glibc
internal import System

package enum Browser {
  private static let program = "/usr/bin/xdg-open"

  /// The value of `POSIX_SPAWN_SETSID`.
  private static let newSession: Int16 = 0x80

  /// Opens a URL. Returns `false` for root, and if no browser can be started.
  package static func open(_ url: String) -> Bool {
    let hasDisplay = ["DISPLAY", "WAYLAND_DISPLAY"].contains { ProcessEnvironment.value($0)?.isEmpty == false }
    guard hasDisplay, geteuid() != 0, access(program, X_OK) == 0 else { return false }
    var (actions, attributes) = (posix_spawn_file_actions_t(), posix_spawnattr_t())
    posix_spawn_file_actions_init(&actions)
    posix_spawnattr_init(&attributes)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
    }
    // Otherwise, the browser's output would mix with the command's output.
    for descriptor in 0...2 as ClosedRange<Int32> {
      posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
    }
    // In a session of its own, the browser does not receive Ctrl-C.
    posix_spawnattr_setflags(&attributes, newSession)
    var words: [UnsafeMutablePointer<CChar>?] = [strdup(program), strdup(url), nil]
    defer { for word in words { free(word) } }
    var process: pid_t = 0
    return posix_spawn(&process, program, &actions, &attributes, &words, environ) == 0
  }
}
