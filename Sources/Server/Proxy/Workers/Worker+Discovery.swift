internal import Credentials
internal import Gateway
internal import Policy
internal import Providers
internal import Secrets
internal import Settings
internal import Generations
internal import System

extension Worker {
  /// Returns the response body for a caller who asks which services it may use.
  func discoveryDocument(for caller: Caller, at listener: ListenerID, authority: String) -> [UInt8] {
    let snapshot = generation.snapshot
    let offers = snapshot.index(of: listener).flatMap { snapshot.discoveryOffers[$0] } ?? []
    let gates = GateReader(self)
    var indices: [String: Int] = [:]
    for (index, credential) in generation.settings.credentials.enumerated() { indices[credential.name] = index }
    return Discovery.document(for: caller, authority: authority, offers, snapshot.rules) { name, whole, service in
      guard let grant = indices[name] else {
        return Discovery.Credential(isAvailable: false, expires: nil, remedy: "bearerctl status")
      }
      let obstacle = gates.states(ofGrant: grant, in: whole, service: service).obstacle
      let remedy = obstacle.map { self.remedy(for: $0, ofGrant: grant) }
      return Discovery.Credential(isAvailable: remedy == nil, expires: expiry(ofGrant: grant), remedy: remedy)
    }
  }

  /// Returns the command with which a person finds or removes the obstacle.
  private func remedy(for obstacle: GateObstacle, ofGrant grant: Int) -> String {
    let settings = generation.settings.credentials[grant]
    switch obstacle.refusal.code {
    case .loginRequired where settings.oauth2?.isByLogin == true: return "bearerctl login \(settings.name)"
    case .loginRequired: return generation.keyring.isLoggedOut(grant: grant) ? "bearerctl reload" : "bearerctl status"
    default: return "bearerctl status"
    }
  }

  /// Returns when the credential's value expires, in seconds since 1970. `nil` if unknown.
  package func expiry(ofGrant index: Int) -> Int64? {
    if let token = providers.tokens?.status(ofGrant: index) {
      return token.secondsLeft.map { Clock.now.seconds + Int64(clamping: $0) }
    }
    let commands = generation.settings.credentials[index].sources.compactMap(\.command)
    return commands.compactMap { generation.keyring.commandOutputs.expiry(of: $0) }.min()
  }
}
