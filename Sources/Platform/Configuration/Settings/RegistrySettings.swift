package import Policy

extension CredentialSettings {
  /// `registry`: tokens for what a container registry asks for, granted at one place that is named here.
  package struct Registry: Sendable, Equatable {
    /// Of the credential.
    package let name: String
    /// Where tokens are granted: what the registry calls `realm` has to be this.
    package let realm: Endpoint
    /// nil: for nobody in particular; with `password`.
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
