internal import Credentials
internal import Gateway
internal import HTTP1
internal import Redaction

/// The storage of a request, which another request uses later.
final class ExchangeSlot {
  var machine: RequestMachine
  let redaction = ResponseRedaction()
  /// The next slot in the pool's list, while this slot is unused.
  var next: ExchangeSlot?

  init(limits: HeadLimits) { machine = RequestMachine(limits: limits) }

  /// Prepares for another request.
  func clear() {
    machine.renew()
    redaction.redactor.end()
  }
}
