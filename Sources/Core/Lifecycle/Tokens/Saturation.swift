extension UInt64 {
  /// Returns a random number from 0 to less than this number.
  /// - Parameter chance: a random number from the whole range.
  func randomPart(_ chance: UInt64) -> UInt64 { multipliedFullWidth(by: chance).high }

  /// Returns the sum, or the maximum if the sum is larger.
  @inlinable package func saturating(_ other: UInt64) -> UInt64 {
    let (sum, isTooMuch) = addingReportingOverflow(other)
    return isTooMuch ? .max : sum
  }

  /// Returns the product, or the maximum if the product is larger.
  @inlinable package func saturating(times other: UInt64) -> UInt64 {
    let (product, isTooMuch) = multipliedReportingOverflow(by: other)
    return isTooMuch ? .max : product
  }
}
