internal import CLinux

/// The processors that this process may run on.
package enum Processors {
  /// Fewer than the machine has, where a cpuset or `taskset` says so. At least 1.
  package static var count: Int {
    var set = [UInt64](repeating: 0, count: 128)
    let bytes = set.withUnsafeMutableBytes { bearerd_affinity($0.baseAddress, $0.count) }
    return bytes > 0 ? max(1, set.reduce(0) { $0 + $1.nonzeroBitCount }) : 1
  }
}
