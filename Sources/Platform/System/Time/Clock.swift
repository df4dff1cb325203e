internal import CLinux
internal import Glibc

package enum Clock {
  /// Time since 1970 (CLOCK_REALTIME).
  package static var now: (seconds: Int64, microseconds: Int64) {
    let time = read(CLOCK_REALTIME)
    return (Int64(time.tv_sec), Int64(time.tv_nsec / 1000))
  }

  /// CLOCK_MONOTONIC, for measuring durations. Does not advance while the machine sleeps.
  package static var monotonicMicroseconds: UInt64 {
    let time = read(CLOCK_MONOTONIC)
    return UInt64(time.tv_sec) &* 1_000_000 &+ UInt64(time.tv_nsec / 1000)
  }

  static func read(_ clock: clockid_t) -> timespec {
    var time = timespec()
    clock_gettime(clock, &time)
    return time
  }
}
