internal import Policy

/// The names of what forwarding changed in a request, for `explain`.
package struct ForwardingChanges: Sendable, Equatable {
  package var removed: [String] = []
  package var added: [String] = []
  package var removedParameters: [String] = []
  /// `true` if the upstream is offered fewer codings than the client accepts.
  package var limitsCodings = false
  package init() {}
}

struct ForwardingNotes {
  var removed = RemovedNames()
  /// The changes, recorded only for `explain`. `nil` for a request that is sent.
  var changes: ForwardingChanges?

  mutating func note(_ field: CredentialField, as name: @autoclosure () -> String) {
    removed.insert(field)
    changes?.removed.append(name())
  }
}
