/// The origins to which a credential may be sent, and the callers that may use it.
package final class Grant: Sendable, Equatable {
  package let name: String
  /// The origins to which the credential may be sent. All use https.
  package let origins: [Origin]
  /// The callers that may use the credential. `nil` if every caller that the listener admits may use it.
  package let callers: Callers?
  /// Lower-case names of the fields that the credential sets.
  package let fieldNames: [String]
  /// Maximum bytes of a request body to keep for a second attempt. 0 allows only requests without a body. `nil` if
  /// there is no second attempt.
  package let replayBuffer: Int?
  package let authRetry: AuthRetryReason
  /// Which responses mean that the credential has expired.
  package let expiry: ExpirySigns
  /// The name of the cookie that carries the credential; `nil` if the credential is not a cookie.
  package let cookie: String?
  /// The grants of several credentials that are sent together. Empty for a single credential.
  package let parts: [Grant]
  /// Whether the credential signs form parameters. A request with a form then waits for its whole body.
  package let signsForms: Bool

  package init(
    name: String, origins: [Origin], callers: Callers?, fieldNames: [String], replayBuffer: Int? = nil,
    parts: [Grant] = [], signsForms: Bool = false, authRetry: AuthRetryReason = .expiry,
    expiry: ExpirySigns = ExpirySigns(), cookie: String? = nil
  ) {
    self.expiry = expiry
    self.cookie = cookie
    self.name = name
    self.origins = origins
    self.callers = callers
    self.fieldNames = fieldNames
    self.replayBuffer = replayBuffer
    self.parts = parts
    self.signsForms = signsForms
    self.authRetry = authRetry
  }

  package func allows(_ origin: Origin) -> Bool { origins.contains(origin) }

  /// Whether this grant is for the named credential, or has it as a part.
  package func includes(_ credential: String) -> Bool {
    name == credential || parts.contains { $0.name == credential }
  }

  /// Whether both grants give the same permission. Ignores the settings for second attempts.
  package static func == (one: Grant, other: Grant) -> Bool {
    one === other
      || one.name == other.name && one.origins == other.origins && one.callers == other.callers
        && one.fieldNames == other.fieldNames && one.cookie == other.cookie && one.parts == other.parts
  }
}

/// The kind of response after which a second attempt may succeed.
package enum AuthRetryReason: Sendable, Equatable {
  /// The credential has expired, according to the grant's `expiry`.
  case expiry
  /// The response has a Digest challenge (RFC 7616) with one of these hash functions, and with this realm unless it is
  /// `nil`.
  case digest(Set<DigestHash>, realm: [UInt8]? = nil)
  /// The response has a `RegistryChallenge`. The endpoint issues the token.
  case registry(Endpoint)
  /// The response challenges for this scheme, and with this realm unless it is `nil`.
  case challenged(ChallengedScheme, realm: [UInt8]? = nil)

  /// The realm that a challenge must have; `nil` for any realm.
  package var realm: [UInt8]? {
    switch self {
    case .digest(_, let realm), .challenged(_, let realm): realm
    case .expiry, .registry: nil
    }
  }

  package var requiresChallenge: Bool { if case .challenged = self { true } else { false } }
}
