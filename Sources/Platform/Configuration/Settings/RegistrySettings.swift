package import Policy

extension CredentialSettings {
  /// `registry`: how a credential gets tokens for a container registry.
  package struct Registry: Sendable, Equatable {
    package let name: String
    /// The only token endpoint that the registry's challenges may name.
    package let realm: Endpoint
    /// The user for token requests. `nil` for requests without a user and password.
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
