internal import CLinux
internal import Glibc

/// An alarm on a clock that also goes while the machine sleeps: a token does not live longer because its user's lid was shut.
package final class BootTimer {
  /// Readable when the time has come, until it is set again.
  package let descriptor: Int32

  package init() throws(SystemError) {
    descriptor = try check(bearerd_boot_timer(), "timerfd_create")
  }

  deinit { close(descriptor) }

  /// Milliseconds since the machine started (CLOCK_BOOTTIME).
  package static var now: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return UInt64(time.tv_sec) &* 1000 &+ UInt64(time.tv_nsec) / 1_000_000
  }

  /// nil: never. What is past comes at once.
  package func set(at time: UInt64?) {
    var alarm = itimerspec()
    if let time {
      // Zero would switch it off
      let time = max(1, time)
      alarm.it_value = timespec(tv_sec: Int(clamping: time / 1000), tv_nsec: Int(time % 1000) * 1_000_000)
    }
    timerfd_settime(descriptor, Int32(TFD_TIMER_ABSTIME), &alarm, nil)
  }
}
