internal import CLinux
internal import Glibc

/// The measures that a process which holds secrets takes on itself first.
package enum ProcessHardening {
  /// First thing in `main`, before any thread. Fatal signals back to SIG_DFL, no signal blocked, PR_SET_DUMPABLE 0,
  /// RLIMIT_CORE 0, SIGPIPE and SIGXFSZ ignored, SIGCHLD not, umask 077, no environment variable that could change trust or name resolution (T30),
  /// and as many descriptors as we may have.
  /// - Returns: names of the variables among those that were removed that name a proxy, for advice: their values, which may
  ///   hold a password, are not read.
  @discardableResult
  package static func apply() -> [String] {
    silenceCrashes()
    bearerd_prctl(PR_SET_DUMPABLE, 0)
    setLimit(RLIMIT_CORE) { $0 = rlimit(rlim_cur: 0, rlim_max: 0) }
    setLimit(RLIMIT_NOFILE) { $0.rlim_cur = $0.rlim_max }
    signal(SIGPIPE, SIG_IGN)
    // A file that may not grow is a write that fails, as on a full disk, and not our end.
    signal(SIGXFSZ, SIG_IGN)
    // Ignored, which a child inherits, it would let the kernel fetch our children before we know how they ended.
    signal(SIGCHLD, SIG_DFL)
    unblockSignals()
    umask(0o077)
    let dangerous = environmentNames().filter(isDangerous)
    for name in dangerous { unsetenv(name) }
    return dangerous.filter { ["https_proxy", "http_proxy", "all_proxy"].contains($0.lowercased()) }.sorted()
  }

  /// Swift's crash backtracer is a handler of these signals. It prints registers with the memory behind them to the
  /// journal, which PR_SET_DUMPABLE does not prevent (T49).
  private static func silenceCrashes() {
    for fatal in [SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGBUS, SIGSEGV, SIGQUIT, SIGSYS] { signal(fatal, SIG_DFL) }
  }

  /// The process that started us may have blocked signals for itself, and a child inherits that: SIGTERM and SIGHUP would wait
  /// for ever.
  private static func unblockSignals() {
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

  /// The dynamic loader's, the resolver's, OpenSSL's, and what names a proxy in either case.
  static func isDangerous(_ name: String) -> Bool {
    exact.contains(name) || prefixes.contains { name.hasPrefix($0) } || name.lowercased().hasSuffix("_proxy")
  }

  private static let exact: Set<String> = [
    "RES_OPTIONS", "LOCALDOMAIN", "HOSTALIASES", "RESOLV_HOST_CONF", "OPENSSL_CONF", "OPENSSL_MODULES",
    "OPENSSL_ENGINES", "SSLKEYLOGFILE", "GCONV_PATH", "LOCPATH", "NLSPATH",
  ]
  private static let prefixes = ["LD_", "SSL_CERT_", "CTLOG_FILE"]
}
