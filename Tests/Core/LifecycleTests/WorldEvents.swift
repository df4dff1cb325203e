extension World {
  enum Event {
    case request(Int, replay: Bool)
    case serverTakes(number: UInt64, refresh: Int, life: Int)
    case answer(number: UInt64, Answer, life: Int)
    case write(number: UInt64, refresh: Int, life: Int)
    case tick(life: Int)
    case revokeAccess, revokeRefresh, logout, login, secretChange, place
  }

  enum Answer {
    case token(Int, refresh: Int)
    case unavailable(UInt64?)
    case invalidGrant, invalidClient
    case nothing
  }

  struct AccessToken {
    var expiresAt: UInt64
    var isRevoked = false
    /// The upstream has said so to us.
    var isCalledDead = false
  }
}
