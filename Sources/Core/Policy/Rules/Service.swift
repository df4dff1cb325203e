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
  package var options = ServiceOptions()
  /// Maximum rate of each caller's requests; `nil` for no limit.
  package var rate: Rate?
  package var upgrades = [UpgradeProtocol.websocket]
  /// When bearerd sends a request again after an upstream failure; `nil` for never.
  package var retry: RetryPolicy?

  package init(name: String, listener: Int, mount: Mount, upstream: Upstream, credential: CredentialChoice) {
    self.name = name
    self.listener = listener
    self.mount = mount
    self.upstream = upstream
    self.credential = credential
  }
}
