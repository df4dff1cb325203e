/// The origins where one credential may go, and for whom: part of the credential, so that no rule can widen it.
/// A class, because it never changes and each request looks at it: nothing of it is copied.
package final class Grant: Sendable, Equatable {
  package let name: String
  /// All https.
  package let origins: [Origin]
  /// nil: every caller whom the listener admits.
  package let callers: Callers?
  /// Lower-case names of the fields that the credential sets.
  package let fieldNames: [String]
  /// Bytes of a request's body that are kept, so that the request can be sent once more where a new value can be had when an
  /// upstream calls this one expired; 0: only requests without one are. nil: there is no new value to be had.
  package let replayBuffer: Int?
  /// Which answers are worth a second try.
  package let authRetry: AuthRetryReason
  /// Which answers call it expired; of no interest without `replayBuffer`, or for another reason than `.expiry`.
  package let expiry: ExpirySigns
  /// The cookie that it is, of all that may go out in the one Cookie field; nil: it is none.
  package let cookie: String?
  /// Grants of credentials that go out together: each is judged by itself. Empty: it is one.
  package let parts: [Grant]
  /// The credential's text depends on the parameters in a form, so that a request with one waits until all of it is there.
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

  package func names(_ origin: Origin) -> Bool { origins.contains(origin) }

  /// Whether the credential of this name is it, or goes out with it.
  package func includes(_ credential: String) -> Bool {
    name == credential || parts.contains { $0.name == credential }
  }

  /// Whether they mean the same permission: what is kept for a second try is none.
  package static func == (one: Grant, other: Grant) -> Bool {
    one === other
      || one.name == other.name && one.origins == other.origins && one.callers == other.callers
        && one.fieldNames == other.fieldNames && one.cookie == other.cookie && one.parts == other.parts
  }
}

/// A reason, said by an answer, why the same request may be answered otherwise.
package enum AuthRetryReason: Sendable, Equatable {
  /// The credential has expired, by the grant's signs.
  case expiry
  /// With which nonce a password is to be shown (RFC 7616), to be computed by one of these.
  case digest(Set<DigestHash>)
  /// For what a token is wanted that this place grants.
  case registry(Endpoint)
  /// For it by its scheme: the first request goes out without it.
  case awaited(ChallengedScheme)

  package var waitsToBeAsked: Bool { if case .awaited = self { true } else { false } }
}
