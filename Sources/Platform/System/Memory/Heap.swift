internal import CLinux
internal import Glibc

package enum Heap {
  /// Returns free heap memory to the system. Blocks allocations of all threads for some milliseconds per 100 MB.
  package static func releaseFreeMemory() { malloc_trim(0) }
}
