internal import Credentials
internal import Gateway
internal import HTTP1

/// Where requests are worked on: what an exchange needs, and a connection between two of them does not. As large as a connection
/// is small otherwise, so there are as many as are in use at once.
final class Desk {
  var machine: ClientConnection
  /// What looks for the credential in the answer.
  let redactor = Redactor()
  /// Among those that nobody sits at.
  var next: Desk?

  init(limits: HeadLimits) {
    machine = ClientConnection(listener: 0, caller: nil, limits: limits)
  }

  /// Nothing of who sat here is left.
  func clear() {
    machine.forget()
    redactor.end()
  }
}
