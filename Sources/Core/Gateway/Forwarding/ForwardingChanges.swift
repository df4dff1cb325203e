/// The fields of a request that forwarding changed or left out, for `explain`. Names only.
package struct ForwardingChanges: Sendable, Equatable {
  package var removed: [String] = []
  package var added: [String] = []
  package var removedParameters: [String] = []
  package init() {}
}
