/// Identifies a listener while the process runs. A reload does not change the identity.
package struct ListenerID: Sendable, Hashable {
  private let number: UInt64

  package init(number: UInt64) { self.number = number }
}
