internal import Gateway

struct ExchangeTiming {
  /// Start of the exchange, in milliseconds of the loop's clock.
  var startedAt: UInt64 = 0
  var totalBy = UInt64.max
  /// What determines `totalBy`.
  var totalTimeout = RequestTimeout.total
  /// Time when the head was sent, in microseconds. 0 if no response head is awaited.
  var headSentAt: UInt64 = 0
  /// Microseconds from the request head to the response head. `nil` before the response head.
  var responseHeadTook: UInt64?
}
