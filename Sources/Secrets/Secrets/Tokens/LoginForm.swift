/// How a session is begun at a login URL: what is posted there, and what of the answer goes out from then on. Names and public
/// text; of what is secret, where it comes from.
package struct LoginForm: Sendable, Hashable {
  package enum Encoding: Sendable, Hashable {
    /// `application/x-www-form-urlencoded` (WHATWG URL section 5.2).
    case form
    /// One object of texts (RFC 8259).
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

  /// The part of the answer that goes out with requests.
  package enum Prize: Sendable, Hashable {
    /// The text at these names of the answer's JSON, each within the one before.
    case token([String])
    /// The value of the cookie of this name (RFC 6265).
    case cookie(String)
  }

  package var encoding: Encoding
  /// In the order of the file.
  package var fields: [Field]
  package var prize: Prize
  /// The member of the answer's JSON that says for how many seconds it counts; nil: none does.
  package var expiresIn: [String]?
  /// Milliseconds for which it is used at most; nil: as long as the answer says, or until it is rejected.
  package var lifetime: UInt64?

  package init(encoding: Encoding, fields: [Field], prize: Prize) {
    self.encoding = encoding
    self.fields = fields
    self.prize = prize
  }

  package var takesCookie: Bool {
    switch prize {
    case .token: false
    case .cookie: true
    }
  }

  /// Sources of its secrets, with the index of the field that each is for.
  var sources: [(field: Int, source: SecretSource)] {
    fields.indices.compactMap { index in
      switch fields[index].value {
      case .plain: nil
      case .secret(let source): (index, source)
      }
    }
  }
}

extension TokenSource {
  /// nil: it is asked by OAuth.
  package var form: LoginForm? {
    if case .form(let form) = grant { form } else { nil }
  }
}
