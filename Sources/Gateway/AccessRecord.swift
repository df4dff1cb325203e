package import HTTP1
package import Policy

/// One exchange, for the log: never a field value, a query or a body.
package struct AccessRecord: Sendable {
  package var method = Method.other
  package var route: Route?
  package var caller: Caller?
  package var status = 0
  package var refusal: Refusal?
  /// Body bytes that went up and came down.
  package var bytesUp: UInt64 = 0
  package var bytesDown: UInt64 = 0
  package var isRetried = false
  /// The upstream rejected the credential that we added (401, 407).
  package var isRejected = false
  /// The exchange ended before its answer was complete.
  package var isAborted = false
  /// Generation of the configuration that decided it.
  package var generation: UInt64 = 0

  package init() {}
}
