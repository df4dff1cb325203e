/// The response to `bearerctl logout --all` and `bearerctl logout --service`.
package struct LogoutsResult: ControlResponse {
  /// The logouts, complete or with problems, in the order of the credentials.
  package var credentials: [LogoutResult] = []
  /// The credentials that were not logged out.
  package var failed: [Failed] = []
  package init() {}

  package struct Failed: Codable, Equatable, Sendable {
    package var credential: String
    package var problem: String

    package init(credential: String, problem: String) {
      self.credential = credential
      self.problem = problem
    }
  }
}

/// The response to `bearerctl logout`.
package struct LogoutResult: ControlResponse {
  package var credential = ""
  package var kind = ""
  package var sources: [String] = []
  package var cut = Cut()
  /// Whether requests fail until the user logs in again or provides a new refresh token.
  package var login = false
  /// Whether the credential becomes available again only after a reload.
  package var reloadOnly = false

  // `nil` for a credential without tokens.
  package var store: String??
  package var hadTokens: Bool?
  package var problem: String??
  package var revocation: String??
  /// The result of the revocation for each token.
  package var revoked: [Revoked]?
  package init() {}

  /// What a logout has ended, in one worker or several.
  package struct Cut: Codable, Equatable, Sendable {
    /// Requests that waited for a token or a connection, and were not sent.
    package var waiting = 0
    /// Requests that were sent, but whose response had not begun.
    package var underWay = 0
    /// Responses that were cut off.
    package var answers = 0
    /// Upgraded connections, such as WebSockets, that were ended.
    package var upgraded = 0
    /// Idle connections to upstreams that were closed.
    package var idle = 0
    /// Stored TLS sessions that can no longer be resumed.
    package var resumable = 0
    /// Cookies that were removed from the credential's jars.
    package var cookies = 0
    package init() {}

    package mutating func add(_ other: Cut) {
      waiting += other.waiting
      underWay += other.underWay
      answers += other.answers
      upgraded += other.upgraded
      idle += other.idle
      resumable += other.resumable
      cookies += other.cookies
    }
  }

  package struct Revoked: Codable, Equatable, Sendable {
    package var token: String
    package var problem: String?

    package init(token: String, problem: String?) {
      self.token = token
      self.problem = problem
    }
  }
}
