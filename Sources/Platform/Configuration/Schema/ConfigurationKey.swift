/// The keys of one kind of mapping, such as a service. `make generate` writes these enumerations from
/// `config/keys.toml`.
package protocol ConfigurationKey: RawRepresentable<String>, CaseIterable, Hashable, Sendable {
  /// The mapping's name in messages, such as `a service`.
  static var kind: String { get }

  /// The bounds of a number, of a size in bytes, or of a duration in milliseconds. `0...0` for keys without bounds.
  var bounds: ClosedRange<Int> { get }
}

extension ConfigurationKey {
  package var bounds: ClosedRange<Int> { 0...0 }
}
