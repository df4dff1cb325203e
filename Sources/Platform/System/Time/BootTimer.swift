internal import CLinux
internal import Glibc

/// A timer whose clock continues while the machine sleeps, because tokens also expire during sleep.
package final class BootTimer {
  /// Readable from the time that was passed to `set(at:)` until the next call of `set(at:)`.
  package let descriptor: Int32

  package init() throws(SystemError) {
    descriptor = try check(bearerd_boot_timer(), "timerfd_create")
  }

  deinit { close(descriptor) }

  /// Milliseconds since the machine started (CLOCK_BOOTTIME).
  package static var now: UInt64 {
    let time = Clock.read(CLOCK_BOOTTIME)
    return UInt64(time.tv_sec) &* 1000 &+ UInt64(time.tv_nsec) / 1_000_000
  }

  /// Sets the timer to a time in milliseconds, on the clock of `now`. A past time fires immediately. `nil` stops the
  /// timer.
  package func set(at time: UInt64?) {
    var alarm = itimerspec()
    if let time {
      // Zero would disable the timer.
      let time = max(1, time)
      alarm.it_value = timespec(tv_sec: Int(clamping: time / 1000), tv_nsec: Int(time % 1000) * 1_000_000)
    }
    timerfd_settime(descriptor, Int32(TFD_TIMER_ABSTIME), &alarm, nil)
  }
}
