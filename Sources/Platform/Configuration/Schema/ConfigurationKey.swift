/// The keys of one kind of mapping. `config/keys.toml` has a row for each; the enumerations are written from that.
package protocol ConfigurationKey: RawRepresentable<String>, CaseIterable, Hashable, Sendable {
  /// What such a mapping is called in a message.
  static var kind: String { get }

  /// What a number, or a size in bytes, or a duration in milliseconds may be; of keys without bounds nothing but 0.
  var bounds: ClosedRange<Int> { get }
}

extension ConfigurationKey {
  package var bounds: ClosedRange<Int> { 0...0 }
}
