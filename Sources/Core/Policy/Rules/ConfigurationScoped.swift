/// A value that only one configuration understands, such as an index into one of its tables, with the number of that configuration.
///
/// A reload renumbers listeners, services and credentials. A plain index that outlives it selects another entry, or none. This type
/// gives its value out only for the configuration that it belongs to.
@usableFromInline
package struct ConfigurationScoped<Value: Sendable & Equatable>: Sendable, Equatable {
  @usableFromInline let value: Value
  @usableFromInline let generation: UInt64

  /// - Parameter generation: The number of the configuration in which `value` has its meaning.
  @inlinable package init(_ value: Value, generation: UInt64) {
    self.value = value
    self.generation = generation
  }

  /// Returns the value, or `nil` if it belongs to another configuration than `generation`.
  @inlinable @inline(__always)
  package func value(inGeneration generation: UInt64) -> Value? {
    self.generation == generation ? value : nil
  }
}
