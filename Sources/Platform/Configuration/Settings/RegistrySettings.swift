package import Policy

extension CredentialSettings {
  /// `registry`: tokens for a container registry. Its challenges name a token endpoint, which must be `realm`.
  package struct Registry: Sendable, Equatable {
    /// The credential's name.
    package let name: String
    /// The only token endpoint that challenges of the registry may name.
    package let realm: Endpoint
    /// The user for token requests, set together with `password`. `nil` for anonymous tokens.
    package var user: Value?
    package var password: Source?
    package var allowedAddresses: [AddressBlock] = []
    package var trust = TrustPolicy()
    /// The total time limit of a token request, in milliseconds.
    package var timeout = RegistryKey.timeoutDefault
    /// Maximum size of a request body to keep for a second attempt, in bytes.
    package var replayBuffer = RegistryKey.replayBufferDefault

    package init(name: String, realm: Endpoint) {
      self.name = name
      self.realm = realm
    }
  }
}
