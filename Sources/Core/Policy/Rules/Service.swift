/// The location of a service on its listener.
package enum Mount: Sendable, Equatable {
  /// A canonical path that begins and ends with `/`.
  case path([UInt8])
  /// A host name, such as `github.localhost`.
  case host(String)
  /// A separate listener.
  case whole
}

package struct Service: Sendable, Equatable {
  package var name: String
  /// Index of the service's listener.
  package var listener: Int
  package var mount: Mount
  package var upstream: Upstream
  package var trust = TrustPolicy()
  /// `nil` if the service has no rules: all requests are then forwarded with `credential`. An empty array refuses all
  /// requests.
  package var rules: [Rule]?
  package var credential: CredentialChoice
  package var callers: Callers?
  package var headers = HeaderPolicy()
  package var timeouts = Timeouts()
  package var onRejected = OnRejected.pass
  /// The parts of responses that are searched for the added credential.
  package var redact = Redact.errors
  /// Whether a malformed response head is repaired if its meaning is unambiguous. Otherwise, the response is refused.
  package var repairsResponses = true
  /// Maximum rate of each caller's requests; `nil` for no limit.
  package var rate: Rate?
  package var upgrades = [UpgradeProtocol.websocket]
  /// Whether a client that logs in on its connection (NTLM, Negotiate) gets an upstream connection of its own.
  package var dedicatesConnections = false
  /// Whether an upstream connection may be reused after a request with a body.
  package var reusesAfterBody = true

  /// What the client receives when the upstream rejects the credential: the upstream's response, or a 502.
  package enum OnRejected: String, Sendable { case pass, badGateway = "502" }

  /// `headers`: heads and trailers. `errors`: also bodies of 4xx and 5xx responses. `all`: every body.
  package enum Redact: String, Sendable { case off, headers, errors, all }

  package init(name: String, listener: Int, mount: Mount, upstream: Upstream, credential: CredentialChoice) {
    self.name = name
    self.listener = listener
    self.mount = mount
    self.upstream = upstream
    self.credential = credential
  }
}
