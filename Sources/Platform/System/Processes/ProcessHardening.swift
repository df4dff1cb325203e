internal import CLinux
internal import Glibc

/// Keeps the secrets of this process out of core dumps and away from other processes, and removes dangerous environment
/// variables.
package enum ProcessHardening {
  /// Restricts this process, and removes environment variables that could change trust or name resolution (T30). Call
  /// this first in `main`, before any thread starts.
  /// - Returns: the names of the removed proxy variables.
  @discardableResult
  package static func apply() -> [String] {
    silenceCrashes()
    bearerd_prctl(PR_SET_DUMPABLE, 0)
    setLimit(RLIMIT_CORE) { $0 = rlimit(rlim_cur: 0, rlim_max: 0) }
    setLimit(RLIMIT_NOFILE) { $0.rlim_cur = $0.rlim_max }
    signal(SIGPIPE, SIG_IGN)
    // At a file size limit, write(2) then fails as on a full disk, instead of ending the process.
    signal(SIGXFSZ, SIG_IGN)
    // If the parent process ignores SIGCHLD, the kernel would reap children before bearerd reads their status.
    signal(SIGCHLD, SIG_DFL)
    unblockSignals()
    umask(0o077)
    let dangerous = environmentNames().filter(isDangerous)
    for name in dangerous { unsetenv(name) }
    return dangerous.filter { ["https_proxy", "http_proxy", "all_proxy"].contains($0.lowercased()) }.sorted()
  }

  /// Disables Swift's crash backtracer, which would print memory to the journal (T49).
  private static func silenceCrashes() {
    for fatal in [SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGBUS, SIGSEGV, SIGQUIT, SIGSYS] { signal(fatal, SIG_DFL) }
  }

  private static func unblockSignals() {
    // A child process inherits blocked signals, and would then never receive SIGTERM and SIGHUP.
    var none = sigset_t()
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, nil)
  }

  private static func setLimit(_ resource: __rlimit_resource, _ change: (inout rlimit) -> Void) {
    let resource = __rlimit_resource_t(resource.rawValue)
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return }
    change(&limit)
    setrlimit(resource, &limit)
  }

  private static func environmentNames() -> [String] {
    guard var entry = bearerd_environment() else { return [] }
    var names: [String] = []
    while let text = entry.pointee {
      let name = String(cString: text).prefix { $0 != "=" }
      if !name.isEmpty { names.append(String(name)) }
      entry += 1
    }
    return names
  }

  static func isDangerous(_ name: String) -> Bool {
    exact.contains(name) || prefixes.contains { name.hasPrefix($0) } || name.lowercased().hasSuffix("_proxy")
  }

  private static let exact: Set<String> = [
    "RES_OPTIONS", "LOCALDOMAIN", "HOSTALIASES", "RESOLV_HOST_CONF", "OPENSSL_CONF", "OPENSSL_MODULES",
    "OPENSSL_ENGINES", "SSLKEYLOGFILE", "GCONV_PATH", "LOCPATH", "NLSPATH",
  ]
  private static let prefixes = ["LD_", "SSL_CERT_", "CTLOG_FILE"]
}
