/// A listener of the configuration without its sockets, as its worker's current generation has it: the place where a connection
/// came in.
package final class ListenerID {
  /// The listener's number, for as long as the process lives.
  let id: UInt64
  private(set) var name: String
  /// In the current generation's settings.
  private(set) var index: Int

  init(id: UInt64, name: String, index: Int) {
    self.id = id
    self.name = name
    self.index = index
  }

  /// Takes over what a new configuration says of it: another name, another place in the list.
  func follow(name: String, index: Int) {
    self.name = name
    self.index = index
  }
}
