/// How bearerd logs in at a URL, and which part of the response later requests carry.
package struct LoginForm: Sendable, Hashable {
  package enum Encoding: String, CaseIterable, Sendable, Hashable {
    /// `application/x-www-form-urlencoded` (WHATWG URL section 5.2).
    case form
    /// A JSON object whose members are strings (RFC 8259).
    case json
  }

  package struct Field: Sendable, Hashable {
    package let name: String
    package let value: FieldValue

    package init(_ name: String, _ value: FieldValue) {
      self.name = name
      self.value = value
    }
  }

  package enum ExtractedValue: Sendable, Hashable {
    /// The string at this path in the response's JSON object.
    case token([String])
    /// The value of the cookie with this name (RFC 6265).
    case cookie(String)
  }

  package var encoding: Encoding
  package var fields: [Field]
  package var extractedValue: ExtractedValue
  /// Path of the JSON member with the lifetime in seconds; `nil` if the response has no such member.
  package var expiresIn: [String]?
  /// Maximum lifetime of a session in milliseconds; `nil` for no maximum.
  package var lifetime: UInt64?

  package init(encoding: Encoding, fields: [Field], extractedValue: ExtractedValue) {
    self.encoding = encoding
    self.fields = fields
    self.extractedValue = extractedValue
  }

  package var extractsCookie: Bool { cookie != nil }

  package var cookie: String? {
    if case .cookie(let name) = extractedValue { name } else { nil }
  }
}

extension TokenSource {
  /// The login form of the source; `nil` if the source uses OAuth.
  package var form: LoginForm? {
    if case .form(let form) = grant { form } else { nil }
  }

  /// The OAuth token that a field of the login form carries (`token_of`); `nil` if there is none.
  package var basis: TokenSource? {
    guard let form else { return nil }
    for field in form.fields {
      if case .secret(.token(let token)) = field.value { return token }
    }
    return nil
  }
}
