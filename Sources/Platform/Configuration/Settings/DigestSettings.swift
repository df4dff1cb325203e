package import Policy

extension CredentialSettings {
  /// `digest`: a user and a password that never goes out itself (RFC 7616).
  package struct Digest: Sendable, Equatable {
    package let user: Value
    package let password: Source
    /// The hashes that an upstream may have us compute.
    package var hashes = Set(DigestHash.allCases)
    /// `Grant.replayBuffer`
    package var replayBuffer = DigestKey.replayBufferDefault

    package init(user: Value, password: Source) {
      self.user = user
      self.password = password
    }
  }
}
