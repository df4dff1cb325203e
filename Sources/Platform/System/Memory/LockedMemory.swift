internal import CLinux
internal import Glibc

/// Pages that are locked, excluded from core dumps, and wiped on fork and before they are freed.
package final class LockedMemory {
  /// The memory, initially zero. Valid as long as this object.
  package let bytes: UnsafeMutableRawBufferPointer
  /// `false` if the system refused to lock the pages (RLIMIT_MEMLOCK), so that they may be swapped out.
  package let isLocked: Bool

  private let mapping: UnsafeMutableRawPointer
  private let mappedCount: Int

  /// - Parameter mustLock: whether to throw if the pages cannot be locked.
  /// - Throws: EINVAL unless `byteCount` is positive. Otherwise, an error of mmap(2), madvise(2) or mlock(2).
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

  /// Zeroes all pages. The compiler cannot remove this call.
  package func wipe() { explicit_bzero(mapping, mappedCount) }

  deinit {
    wipe()
    munmap(mapping, mappedCount)  // unlocks too
  }
}
