/// Where one credential may go, and for whom: part of the credential, so that no rule can widen it.
/// A class, because it never changes and each request looks at it: nothing of it is copied.
package final class Grant: Sendable, Equatable {
  package let name: String
  /// All https.
  package let origins: [Origin]
  /// nil: whoever the listener admits.
  package let callers: Callers?
  /// Lower-case names of the fields that the credential sets.
  package let fieldNames: [String]
  /// Where a new value can be had when an upstream calls this one expired: bytes of a request's body that are kept, so that
  /// the request can be sent once more; 0: only requests without one are. nil: there is no new value to be had.
  package let replayBuffer: Int?
  /// Of credentials that go out together: each is judged by itself. Empty: it is one.
  package let parts: [Grant]
  /// What it writes depends on the parameters in a form, so that a request with one waits until all of it is there.
  package let signsForms: Bool

  package init(
    name: String, origins: [Origin], callers: Callers?, fieldNames: [String], replayBuffer: Int? = nil,
    parts: [Grant] = [], signsForms: Bool = false
  ) {
    self.name = name
    self.origins = origins
    self.callers = callers
    self.fieldNames = fieldNames
    self.replayBuffer = replayBuffer
    self.parts = parts
    self.signsForms = signsForms
  }

  package func names(_ origin: Origin) -> Bool { origins.contains(origin) }

  /// Whether they mean the same permission: what is kept for a second try is none.
  package static func == (one: Grant, other: Grant) -> Bool {
    one === other
      || one.name == other.name && one.origins == other.origins && one.callers == other.callers
        && one.fieldNames == other.fieldNames && one.parts == other.parts
  }
}
