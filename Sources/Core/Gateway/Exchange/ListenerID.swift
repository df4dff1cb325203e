/// Identifies a listener while the process runs. A listener that survives a reload keeps its identity, even if its name
/// or its position in the file changes. Identities of removed listeners are not used again.
package struct ListenerID: Sendable, Hashable {
  private let number: UInt64

  package init(number: UInt64) { self.number = number }
}
