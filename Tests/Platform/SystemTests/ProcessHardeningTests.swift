import CLinux
import Glibc
import System
import Testing

@Suite(.serialized) struct ProcessHardeningTests {
  @Test func `T49: a hardened process writes no core dump and resets limits and signal handlers`() async {
    await #expect(processExitsWith: .success) {
      umask(0)
      signal(SIGSEGV) { _ in }
      signal(SIGCHLD, SIG_IGN)
      ProcessHardening.apply()
      try expect(bearerd_prctl(PR_GET_DUMPABLE, 0) == 0)
      try expect(umask(0) == 0o077)
      var core = rlimit(rlim_cur: 9, rlim_max: 9)
      getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &core)
      try expect(core.rlim_cur == 0 && core.rlim_max == 0)
      var files = rlimit()
      getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files)
      try expect(files.rlim_cur == files.rlim_max)
      for fatal in [SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGBUS, SIGSEGV, SIGQUIT, SIGSYS] {
        try expect(handler(of: fatal) == 0)
      }
      try expect(handler(of: SIGPIPE) == 1)
      try expect(handler(of: SIGXFSZ) == 1)
      try expect(handler(of: SIGCHLD) == 0)
    }
  }

  @Test func `T30: environment variables that change trust are removed, and other variables stay`() async {
    await #expect(processExitsWith: .success) {
      let gone = [
        "LD_PRELOAD", "LD_LIBRARY_PATH", "RES_OPTIONS", "LOCALDOMAIN", "HOSTALIASES", "OPENSSL_CONF", "OPENSSL_MODULES",
        "SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "no_proxy",
      ]
      let kept = ["PATH", "NOTIFY_SOCKET", "CREDENTIALS_DIRECTORY", "LDX", "PROXY", "XSSL_CERT_FILE", "EMPTY"]
      for name in gone + kept { setenv(name, name == "EMPTY" ? "" : "/nonexistent", 1) }
      ProcessHardening.apply()
      for name in gone { try expect(getenv(name) == nil) }
      for name in kept { try expect(getenv(name) != nil) }
    }
  }

  /// Swift's backtracer handles fatal signals, and prints registers and the memory to which they point. Hardening
  /// removes the handler, even if `SWIFT_BACKTRACE` enables it.
  @Test func `T49: a trap prints no registers`() async {
    setenv("SWIFT_BACKTRACE", "enable=yes,symbolicate=off,color=no", 1)
    defer { unsetenv("SWIFT_BACKTRACE") }
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      if handler(of: SIGILL) == 0 { exit(0) }  // without a backtracer, there is nothing to test
      ProcessHardening.apply()
      trap()
    }
    let output = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(output.contains("Fatal error: Index out of range"))
    #expect(!output.contains("Registers:") && !output.contains("Backtrace"))
  }
}

/// The address of a signal's handler: 0 for `SIG_DFL`, 1 for `SIG_IGN`.
private func handler(of signal: Int32) -> Int {
  var action = sigaction()
  sigaction(signal, nil, &action)
  return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
}

@inline(never)
private func trap() {
  let bytes = [UInt8](repeating: 1, count: Int(getpid() & 1))
  print(bytes[Int(getpid())])
}

@Suite struct LockedMemoryTests {
  @Test func `T50: locked memory is zero at first, and after it is wiped`() throws {
    let memory = try LockedMemory(byteCount: 5000)
    #expect(memory.bytes.count == 5000)
    #expect(memory.bytes.allSatisfy { $0 == 0 })
    memory.bytes.copyBytes(from: [UInt8](repeating: 7, count: 5000))
    memory.wipe()
    #expect(memory.bytes.allSatisfy { $0 == 0 })
  }

  /// The kernel's flags: locked (`lo`), excluded from dumps (`dd`), wiped on fork (`wf`).
  @Test(.enabled(if: locksMemory)) func `T49: locked memory is not swapped, dumped or inherited by a fork`() throws {
    let memory = try LockedMemory(byteCount: 1)
    let flags = try #require(mappingFlags(memory.bytes))
    #expect(flags.contains("dd") && flags.contains("wf"))
    #expect(flags.contains("lo") == memory.isLocked)
  }

  @Test(arguments: [0, -1, Int.max, Int.max - 4096, Int.min])
  func `an impossible size throws`(_ count: Int) {
    #expect(throws: SystemError.self) { try LockedMemory(byteCount: count) }
  }

  @Test(.enabled(if: locksMemory)) func `without permission to lock, memory is allocated and reported as unlocked`()
    async
  {
    await #expect(processExitsWith: .success) {
      var none = rlimit(rlim_cur: 0, rlim_max: 0)
      setrlimit(__rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue), &none)
      if geteuid() == 0 { seteuid(65534) }
      let memory = try LockedMemory(byteCount: 100)
      try expect(!memory.isLocked && memory.bytes.count == 100)
    }
  }

  private func mappingFlags(_ bytes: UnsafeMutableRawBufferPointer) -> [Substring]? {
    guard let file = fopen("/proc/self/smaps", "r") else { return nil }
    defer { fclose(file) }
    let start = UInt(bitPattern: bytes.baseAddress)
    var (line, capacity, isOurs) = (UnsafeMutablePointer<CChar>?.none, 0, false)
    defer { free(line) }
    while getline(&line, &capacity, file) > 0, let text = line.map({ String(cString: $0) }) {
      let words = text.split(whereSeparator: { $0 == " " || $0 == "\n" })
      let range = words.first?.split(separator: "-").compactMap { UInt($0, radix: 16) } ?? []
      if range.count == 2 { isOurs = range[0] <= start && start < range[1] }
      if isOurs, words.first == "VmFlags:" { return Array(words.dropFirst()) }
    }
    return nil
  }
}
