internal import Configuration
internal import Credentials
internal import Gateway
internal import Log
internal import Providers
internal import Generations
internal import Transport

/// Checks the gates for a request before its upstream connection is opened.
struct RequestFacts: GateFacts {
  private let session: ClientSession
  private let routeContext: RouteContext
  private let grant: Int
  private let isAvailable: Bool
  /// `true` if the request need not wait for the credential.
  private let isQuiet: Bool
  private let stage: SecretStage
  private let isFresh: Bool

  /// - Parameters:
  ///   - stage: the first secret source to wait for.
  ///   - isFresh: whether the request must not use an idle connection.
  init(_ session: ClientSession, _ routeContext: RouteContext, from stage: SecretStage, isFresh: Bool) {
    (self.session, self.routeContext, self.stage, self.isFresh) = (session, routeContext, stage, isFresh)
    let wanted = session.grant
    grant = wanted ?? 0
    let keyring = session.generation.keyring
    isAvailable = wanted != nil && keyring.isAvailable(grant: grant)
    isQuiet =
      isAvailable && session.worker.providers.needsNoWait(forGrant: grant, hasFiles: keyring.hasFiles(grant: grant))
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
