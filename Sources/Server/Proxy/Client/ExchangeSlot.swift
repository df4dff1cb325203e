internal import Credentials
internal import Gateway
internal import HTTP1
internal import Redaction

/// A place to work on a request: what an exchange needs, and a connection between two of them does not. As large as a
/// connection is small otherwise, so there are as many as are in use at once.
final class ExchangeSlot {
  /// Reached by one event at a time, as `ClientSession.tell` is the only way to it and the machine calls no session.
  #if !DEBUG
    @exclusivity(unchecked)
  #endif
  var machine: ClientConnection
  /// The search for the credential in the answer.
  let redactor = Redactor()
  /// The next one of the pool, while no connection uses this one.
  var next: ExchangeSlot?

  init(limits: HeadLimits) {
    machine = ClientConnection(listener: nil, caller: nil, limits: limits)
  }

  /// Nothing is left of the exchange before.
  func clear() {
    machine.forget()
    redactor.end()
  }
}
