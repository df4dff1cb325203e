internal import CLinux
internal import Glibc

/// The memory of the C library's allocator, which Swift's objects live in as well.
package enum Heap {
  /// Gives the system back what is free. Takes some milliseconds for each hundred megabytes, in which no thread allocates.
  package static func giveBack() { malloc_trim(0) }
}
