/// The keys of one kind of mapping. `config/keys.toml` has a row for each; the enumerations are written from that.
package protocol ConfigurationKey: RawRepresentable<String>, CaseIterable, Hashable, Sendable {
  /// The name of such a mapping in a message.
  static var kind: String { get }

  /// The bounds of a number, of a size in bytes, or of a duration in milliseconds; of keys without bounds nothing but 0.
  var bounds: ClosedRange<Int> { get }
}

extension ConfigurationKey {
  package var bounds: ClosedRange<Int> { 0...0 }
}
