internal import Providers
internal import Transport

/// What a request waits for before it gets an upstream connection, or is sent again.
enum UpstreamWait {
  case nothing
  /// The end of this turn of the loop. `isFresh` is `true` if the request must not use an idle connection.
  case endOfTurn(isFresh: Bool)
  /// A value of the credential that is being read or fetched.
  case value(SecretWait)
  /// A connection that is being opened, for this request alone or for several.
  case connection(any UpstreamOpening)
  /// Nothing. `RequestRun.receive` passes the outcome to the state machine.
  case over(UpstreamOutcome)

  /// - Parameter run: the run that was begun on a connection that has been opened.
  func cancel(_ run: any UpstreamRunDelegate) {
    switch self {
    case .nothing, .endOfTurn: break
    case .value(let wait): wait.cancel()
    case .connection(let opening): opening.cancel()
    case .over(.connection(let connection, _)): connection.cancel(run, isCut: false)
    case .over(.failed): break
    }
  }

  var isOver: Bool { if case .over = self { true } else { false } }
  var isNothing: Bool { if case .nothing = self { true } else { false } }
}
