internal import CLinux
internal import Glibc

package struct ProcessVitals: Sendable {
  package let residentBytes: UInt64
  package let openDescriptors: UInt64
  /// Maximum number of open descriptors (the soft limit RLIMIT_NOFILE).
  package let descriptorLimit: UInt64
  /// CPU time in user and system mode.
  package let processorMicroseconds: UInt64

  /// Reads the current values. A value that cannot be read is 0.
  package init() {
    residentBytes = ProcessVitals.pages &* UInt64(sysconf(Int32(_SC_PAGESIZE)))
    openDescriptors = ProcessVitals.descriptors
    var limit = rlimit()
    descriptorLimit = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 ? UInt64(limit.rlim_cur) : 0
    let time = Clock.read(CLOCK_PROCESS_CPUTIME_ID)
    processorMicroseconds = UInt64(time.tv_sec) &* 1_000_000 &+ UInt64(time.tv_nsec / 1000)
  }

  private static var pages: UInt64 {
    let words = FileReader.procText("/proc/self/statm")?.split(separator: " ") ?? []
    return words.count > 1 ? UInt64(words[1]) ?? 0 : 0
  }

  private static var descriptors: UInt64 {
    guard let directory = opendir("/proc/self/fd") else { return 0 }
    defer { closedir(directory) }
    var count: UInt64 = 0
    while let entry = readdir(directory) {
      if entry.pointee.d_name.0 != CChar(UInt8(ascii: ".")) { count += 1 }
    }
    // Does not count the descriptor of this directory.
    return count > 0 ? count - 1 : 0
  }
}
