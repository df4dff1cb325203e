internal import Configuration
internal import Credentials
internal import Gateway
internal import Log
internal import Providers
internal import Setup
internal import Transport

/// How the gates stand for the request of a session that is about to ask for a connection: what the request takes is reserved,
/// and what it waits for is asked for.
struct RequestFacts: GateFacts {
  private let session: ClientSession
  private let routeContext: RouteContext
  private let grant: Int
  private let isAvailable: Bool
  /// The value is there, and nothing can change that before the request goes out.
  private let isQuiet: Bool
  private let stage: SecretStage
  private let isFresh: Bool

  /// - Parameters:
  ///   - stage: of what is waited for; those before it are over.
  ///   - isFresh: a connection that was kept will not do.
  init(_ session: ClientSession, _ routeContext: RouteContext, from stage: SecretStage, isFresh: Bool) {
    (self.session, self.routeContext, self.stage, self.isFresh) = (session, routeContext, stage, isFresh)
    let wanted = session.grant
    grant = wanted ?? 0
    let keyring = session.generation.keyring
    isAvailable = wanted != nil && keyring.isAvailable(grant: grant)
    isQuiet =
      isAvailable && session.worker.providers.isQuiet(forGrant: grant, hasFiles: keyring.hasFiles(grant: grant))
  }

  private var keyring: Keyring { session.generation.keyring }
  private var problem: String? { keyring.status(ofGrant: grant).problem }

  func audit() -> GateFact { session.worker.log.auditProblem.map { .closed(.unrecorded($0)) } ?? .open }
  func concurrency() -> GateFact { session.acquireRequest() ? .open : .closed(.tooManyRequests) }
  func login() -> GateFact { keyring.isLoggedOut(grant: grant) ? .closed(.loggedOut(problem)) : .open }
  func value() -> GateFact {
    !isQuiet && session.awaitsSecret(grant, isAvailable, from: stage, fresh: isFresh) ? .awaited : .open
  }
  func token() -> GateFact {
    if isQuiet { return .open }
    return session.worker.providers.tokenFailure(ofGrant: grant).map { .closed(.noToken($0.refusal, $0.detail)) }
      ?? .open
  }
  func secret() -> GateFact { isAvailable ? .open : .closed(.noSecret(problem)) }
  func suspension() -> GateFact { session.suspension(ofGrant: grant, of: keyring).map { .closed($0) } ?? .open }
  func rate() -> GateFact { session.rateExcess(routeContext).map { .closed(.rateExceeded($0)) } ?? .open }
}
