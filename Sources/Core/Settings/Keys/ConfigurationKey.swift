/// The keys of one kind of mapping, such as a service.
package protocol ConfigurationKey: RawRepresentable<String>, CaseIterable, Hashable, Sendable {
  /// The mapping's name in messages, such as `a service`.
  static var kind: String { get }

  /// The allowed numbers, sizes in bytes, or durations in milliseconds, of the keys with such a value.
  static var allBounds: [Self: ClosedRange<Int>] { get }
}

extension ConfigurationKey {
  package static var allBounds: [Self: ClosedRange<Int>] { [:] }
  package var bounds: ClosedRange<Int> { Self.allBounds[self] ?? 0...0 }

  /// The mapping's name, and the names of its keys.
  static var section: (kind: String, keys: [String]) { (kind, allCases.map(\.rawValue)) }
}
