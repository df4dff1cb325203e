package import Policy

extension CredentialSettings {
  /// `registry`: tokens for what a container registry asks for, granted at one place that is named here.
  package struct Registry: Sendable, Equatable {
    /// The credential's name.
    package let name: String
    /// The endpoint that grants tokens: what the registry calls `realm` has to be this.
    package let realm: Endpoint
    /// nil: for no user in particular; with `password`.
    package var user: Value?
    package var password: Source?
    package var allowedAddresses: [AddressBlock] = []
    package var trust = TrustPolicy()
    /// Milliseconds for one request there, all in all.
    package var timeout = RegistryKey.timeoutDefault
    /// `Grant.replayBuffer`
    package var replayBuffer = RegistryKey.replayBufferDefault

    package init(name: String, realm: Endpoint) {
      self.name = name
      self.realm = realm
    }
  }
}
