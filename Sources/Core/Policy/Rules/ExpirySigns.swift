/// The responses that mean that a credential has expired, so that the same request may succeed with a new value.
package struct ExpirySigns: Sendable, Equatable {
  /// A response that means expiry, in addition to 401 responses.
  package struct Sign: Sendable, Equatable {
    /// A status from 400 to 499.
    package let status: Int
    /// The JSON value that the body must have; `nil` for any body.
    package let field: JSONFieldSign?

    package init(status: Int, field: JSONFieldSign? = nil) {
      self.status = status
      self.field = field
    }
  }

  /// Whether every 401 means expiry. Otherwise, only a 401 with a bearer challenge or without any challenge does.
  package var acceptsAnyUnauthorized: Bool
  package var more: [Sign]

  package init(acceptsAnyUnauthorized: Bool = false, more: [Sign] = []) {
    self.acceptsAnyUnauthorized = acceptsAnyUnauthorized
    self.more = more
  }
}

/// A JSON response body that means expiry, because it has a certain value at a certain path.
package struct JSONFieldSign: Sendable, Equatable {
  /// Member names, from the outside in. In an array, a number is the index of an element.
  package let path: [[UInt8]]
  /// The expected value: a string without its escapes; or a number, `true` or `false` as written.
  package let value: [UInt8]

  package init(path: [String], value: String) {
    self.path = path.map { Array($0.utf8) }
    self.value = Array(value.utf8)
  }
}
