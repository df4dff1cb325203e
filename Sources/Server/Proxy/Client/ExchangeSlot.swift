internal import Credentials
internal import Gateway
internal import HTTP1
internal import Redaction

/// The state that a connection needs only during an exchange.
final class ExchangeSlot {
  var machine: ClientConnection
  let redactor = Redactor()
  /// The next slot in the pool's list, while this slot is unused.
  var next: ExchangeSlot?

  init(limits: HeadLimits) {
    machine = ClientConnection(listener: nil, caller: nil, limits: limits)
  }

  func clear() {
    machine.forget()
    redactor.end()
  }
}
