/// Which answers say that a credential has expired, so that the same request may well be answered when it comes with another
/// one. 403 with `insufficient_scope` never does (RFC 6750 section 3.1): no renewal widens a scope.
package struct ExpirySigns: Sendable, Equatable {
  /// An answer besides 401.
  package struct Sign: Sendable, Equatable {
    /// 400...499.
    package let status: Int
    /// The text that its body has to have; nil: any.
    package let field: JSONFieldSign?

    package init(status: Int, field: JSONFieldSign? = nil) {
      self.status = status
      self.field = field
    }
  }

  /// 401 counts whatever it challenges for. Otherwise it has to challenge for a bearer token, or for nothing.
  package var takesAnyUnauthorized: Bool
  package var more: [Sign]

  package init(takesAnyUnauthorized: Bool = false, more: [Sign] = []) {
    self.takesAnyUnauthorized = takesAnyUnauthorized
    self.more = more
  }
}

/// A value at one place of a JSON text.
package struct JSONFieldSign: Sendable, Equatable {
  /// Names, each within the one before; a number names an element where an array stands.
  package let path: [[UInt8]]
  /// A text without its escapes, or a number, `true` or `false` as it is written.
  package let value: [UInt8]

  package init(path: [String], value: String) {
    self.path = path.map { Array($0.utf8) }
    self.value = Array(value.utf8)
  }
}
