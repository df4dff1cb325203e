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

  package init(name: String, origins: [Origin], callers: Callers?, fieldNames: [String]) {
    self.name = name
    self.origins = origins
    self.callers = callers
    self.fieldNames = fieldNames
  }

  package func names(_ origin: Origin) -> Bool { origins.contains(origin) }

  package static func == (one: Grant, other: Grant) -> Bool {
    one === other
      || one.name == other.name && one.origins == other.origins && one.callers == other.callers
        && one.fieldNames == other.fieldNames
  }
}
