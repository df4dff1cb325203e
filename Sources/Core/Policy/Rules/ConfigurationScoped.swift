/// A value that is valid in one generation only, such as an index of a service.
@usableFromInline
package struct ConfigurationScoped<Value: Sendable & Equatable>: Sendable, Equatable {
  @usableFromInline let value: Value
  @usableFromInline let generation: UInt64

  @inlinable package init(_ value: Value, generation: UInt64) {
    self.value = value
    self.generation = generation
  }

  /// Returns the value; `nil` in any other generation.
  @inlinable @inline(__always)
  package func value(inGeneration generation: UInt64) -> Value? {
    self.generation == generation ? value : nil
  }
}
