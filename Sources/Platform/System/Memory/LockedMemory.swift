internal import CLinux
internal import Glibc

/// Pages that are locked, left out of core dumps, wiped on fork; zeroed when freed. Page granular: use few.
package final class LockedMemory {
  /// As many bytes as were asked for, all zero at first. Gone with this object.
  package let bytes: UnsafeMutableRawBufferPointer
  /// False when the system refused to lock (RLIMIT_MEMLOCK): the pages may then be swapped out.
  package let isLocked: Bool

  private let mapping: UnsafeMutableRawPointer
  private let mappedCount: Int

  /// EINVAL unless `byteCount` is positive; ENOMEM if there is no memory, or the kernel cannot keep it out of core dumps
  /// and forks.
  /// - Parameter mustLock: fails rather than that the pages may be swapped out.
  package init(byteCount: Int, mustLock: Bool = false) throws(SystemError) {
    let pageSize = getpagesize()
    let (rounded, overflow) = byteCount.addingReportingOverflow(Int(pageSize) - 1)
    guard byteCount > 0, !overflow else { throw SystemError(operation: "mmap", errno: EINVAL) }
    mappedCount = rounded / Int(pageSize) * Int(pageSize)
    let mapped = mmap(nil, mappedCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard let mapped, mapped != MAP_FAILED else { throw SystemError(operation: "mmap", errno: errno) }
    mapping = mapped
    bytes = UnsafeMutableRawBufferPointer(start: mapped, count: byteCount)
    guard madvise(mapped, mappedCount, MADV_DONTDUMP) == 0, madvise(mapped, mappedCount, MADV_WIPEONFORK) == 0 else {
      let reason = errno
      munmap(mapped, mappedCount)
      throw SystemError(operation: "madvise", errno: reason)
    }
    let isLocked = mlock(mapped, mappedCount) == 0
    guard isLocked || !mustLock else {
      let reason = errno
      munmap(mapped, mappedCount)
      throw SystemError(operation: "mlock (LimitMEMLOCK= of the unit, ulimit -l)", errno: reason)
    }
    self.isLocked = isLocked
  }

  /// Zeroes all of it; the compiler cannot leave it out.
  package func wipe() {
    explicit_bzero(mapping, mappedCount)
  }

  deinit {
    wipe()
    munmap(mapping, mappedCount)  // unlocks too
  }
}
