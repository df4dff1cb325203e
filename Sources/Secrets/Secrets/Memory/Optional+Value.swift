extension Optional where Wrapped: ~Copyable {
  /// Lends the value for the duration of the call. Returns `nil`, and does not call `body`, if there is no value.
  @discardableResult
  package borrowing func withValue<Result: ~Copyable, Failure: Error>(
    _ body: (borrowing Wrapped) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    // Optional chaining would consume the value.
    switch self {
    case .some(let value): try body(value)
    case .none: nil
    }
  }
}
