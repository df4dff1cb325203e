/// When an exchange began, and how long it may take.
struct ExchangeTiming {
  /// Milliseconds of the loop's clock.
  var startedAt: UInt64 = 0
  var totalBy = UInt64.max
  /// Microseconds of the monotonic clock; 0: no response's head is being waited for.
  var headSentAt: UInt64 = 0
  /// Microseconds until the response's head came; nil: it has not.
  var responseHeadTook: UInt64?
}
