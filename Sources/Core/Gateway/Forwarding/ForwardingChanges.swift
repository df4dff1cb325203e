internal import Policy

/// The fields of a request that forwarding changed or left out, for `explain`. Names only.
package struct ForwardingChanges: Sendable, Equatable {
  package var removed: [String] = []
  package var added: [String] = []
  package var removedParameters: [String] = []
  /// `true` if the upstream is offered fewer codings than the client accepts.
  package var limitsCodings = false
  package init() {}
}

/// The notes that are taken while a head is written.
struct ForwardingNotes {
  /// For the log.
  var removed = RemovedNames()
  /// For `explain`; nil on the path of a request.
  var changes: ForwardingChanges?

  mutating func note(_ field: CredentialField, as name: @autoclosure () -> String) {
    removed.insert(field)
    changes?.removed.append(name())
  }
}
