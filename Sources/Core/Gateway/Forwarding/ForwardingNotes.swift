/// What forwarding did to a request's fields, for `explain`. Names only.
package struct ForwardingNotes: Sendable, Equatable {
  package var removed: [String] = []
  package var added: [String] = []
  package var removedParameters: [String] = []
  package init() {}
}
