/// Where a value comes from. Names and paths only.
package enum SecretSource: Sendable, Equatable {
  case file(String)
  /// File of this name below $CREDENTIALS_DIRECTORY.
  case systemd(String)
  case env(String)
}

package enum FieldValue: Sendable, Equatable {
  case plain(String)
  case secret(SecretSource)
}

/// What a credential writes: fields with their values.
package enum AuthScheme: Sendable, Equatable {
  case bearer(SecretSource)
  case basic(user: FieldValue, password: SecretSource)
  case headers([HeaderTemplate])

  /// Every source that it reads.
  var sources: [SecretSource] {
    switch self {
    case .bearer(let source): [source]
    case .basic(.plain, let password): [password]
    case .basic(.secret(let user), let password): [user, password]
    case .headers(let templates):
      templates.compactMap { template in
        switch template.value {
        case .plain: nil
        case .secret(let source): source
        }
      }
    }
  }
}

package struct HeaderTemplate: Sendable, Equatable {
  package let name: String
  package let prefix: String
  package let value: FieldValue

  package init(name: String, prefix: String, value: FieldValue) {
    self.name = name
    self.prefix = prefix
    self.value = value
  }
}
