internal import Providers
internal import Transport

/// The wait of a request on its way to an upstream connection, or to another try.
enum Opening {
  case nothing
  /// The end of this turn of the loop. `isFresh`: a connection that was kept will not do.
  case endOfTurn(isFresh: Bool)
  /// A value of its credential that is on its way.
  case value(SecretWait)
  case connection(Connector)

  /// The request waits no longer.
  func cancel() {
    switch self {
    case .nothing, .endOfTurn: break
    case .value(let wait): wait.cancel()
    case .connection(let connector): connector.cancel()
    }
  }
}

/// The outcome of opening a connection.
enum Opened: ~Copyable {
  case session(UpstreamSession, isReused: Bool)
  case failed(ConnectFailure)
}
