package import Policy

extension CredentialSettings {
  /// `digest`: a user and a password for Digest authentication (RFC 7616).
  package struct Digest: Sendable, Equatable {
    package let user: Value
    package let password: Source
    /// The hash algorithms that an upstream may request.
    package var hashes = Set(DigestHash.allCases)
    /// Maximum size of a request body to keep for a second attempt, in bytes.
    package var replayBuffer = DigestKey.replayBufferDefault

    package init(user: Value, password: Source) {
      self.user = user
      self.password = password
    }
  }
}
