internal import Configuration
internal import Gateway
internal import Policy

/// What only a running daemon knows of a request that would go out.
struct Live {
  private static let patience: UInt64 = 2

  let heldBack: SuspensionView?
  let rateLeft: RateLeft?
  let unrecorded: Unrecorded?
  let notLoggedIn: NotLoggedIn?

  /// Nothing, where there is nobody to say so.
  init(_ explanation: Explanation, caller: Caller, of loaded: LoadedConfiguration) {
    let rules = loaded.settings.rules
    let limit = explanation.route.map { rules.rateLimit(service: $0.service, rule: $0.rule) } ?? .none
    guard explanation.refusal == nil, let route = explanation.route,
      explanation.grant != nil || limit != .none || loaded.settings.audit?.isRequired == true,
      let client = ControlClient(of: loaded),
      let status = try? StatusDocument(asking: client, seconds: Live.patience),
      // The usual place is that of whichever daemon this user runs.
      loaded.settings.controlSocket != nil || status.configuration.file == loaded.file
    else {
      (heldBack, rateLeft, unrecorded, notLoggedIn) = (nil, nil, nil, nil)
      return
    }
    let service = rules.services[route.service]
    heldBack = explanation.grant.flatMap { SuspensionView($0.name, at: service.upstream.origin.description, status) }
    rateLeft = RateLeft(limit, of: service.name, uid: caller.uid, client: explanation.client, status)
    unrecorded = Unrecorded(status)
    notLoggedIn = explanation.grant.flatMap { NotLoggedIn($0.name, status) }
  }

  /// Why it would be refused now.
  var refusal: RefusalCode? {
    if unrecorded != nil { return .auditUnavailable }
    if notLoggedIn != nil { return .loginRequired }
    if heldBack?.refuses == true { return .credentialSuspended }
    return rateLeft?.refuses == true ? .rateLimited : nil
  }
}
