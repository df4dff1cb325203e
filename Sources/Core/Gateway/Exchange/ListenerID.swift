/// Identifies a listener while the process runs. A reload that keeps the listener keeps its identity, whatever its new name or place in
/// the file. No later listener gets the identity of one that was removed.
package struct ListenerID: Sendable, Hashable {
  private let number: UInt64

  package init(number: UInt64) { self.number = number }
}
