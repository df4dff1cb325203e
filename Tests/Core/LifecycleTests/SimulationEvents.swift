extension Simulation {
  enum Event {
    case request(Int, replay: Bool)
    case serverReceives(number: UInt64, refresh: Int, life: Int)
    case response(number: UInt64, TokenResponse, life: Int)
    case write(number: UInt64, refresh: Int, life: Int)
    case tick(life: Int)
    case revokeAccess, revokeRefresh, logout, login, secretChange, replaceRefresh
  }

  enum TokenResponse {
    case token(Int, refresh: Int)
    case unavailable(UInt64?)
    case invalidGrant, invalidClient
    case nothing
  }

  struct AccessToken {
    var expiresAt: UInt64
    var isRevoked = false
    /// Whether the upstream has rejected the token before.
    var isKnownDead = false
  }
}
