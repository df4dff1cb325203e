package import Policy

extension CredentialSettings {
  /// How a credential gets a token or cookie from a login URL. Contains no secret.
  package struct Login: Sendable, Equatable {
    package enum Encoding: String, Sendable { case form, json }

    package struct Field: Sendable, Equatable {
      package let name: String
      package let value: Value
    }

    /// The part of the response that becomes the credential: a text in the JSON body, or a cookie.
    package enum ResultField: Sendable, Equatable { case token([String]), cookie(String) }

    package let name: String
    package let endpoint: Endpoint
    package var allowedAddresses: [AddressBlock] = []
    package var trust = TrustPolicy()
    package var encoding: Encoding
    /// The fields to send, in the order of the file.
    package var fields: [Field]
    package var result: ResultField
    package var expiresIn: [String]?
    /// The maximum time to use a token or cookie, in milliseconds. `nil` if only the response limits the time.
    package var lifetime: UInt64?
    package var renewAhead = LoginKey.renewAheadDefault
    package var skew = LoginKey.skewDefault
    package var timeout = LoginKey.timeoutDefault
    /// Maximum size of a request body to keep for a second attempt, in bytes.
    package var replayBuffer = LoginKey.replayBufferDefault
    package var refreshOn: [ExpirySigns.Sign] = []

    init(name: String, endpoint: Endpoint, encoding: Encoding, fields: [Field], result: ResultField) {
      self.name = name
      self.endpoint = endpoint
      self.encoding = encoding
      self.fields = fields
      self.result = result
    }

    package var secrets: [Source] {
      fields.compactMap { field in
        if case .secret(let source) = field.value { source } else { nil }
      }
    }

    package var cookie: String? {
      if case .cookie(let name) = result { name } else { nil }
    }
  }

  package var login: Login? { scheme.login }
}

extension CredentialSettings.Scheme {
  package var login: CredentialSettings.Login? {
    switch self {
    case .bearer(.login(let login)): return login
    case .bearer, .basic, .digest, .registry, .query, .oauth1, .all: return nil
    case .headers(let headers):
      return headers.lazy.compactMap { header in
        if case .secret(.login(let login)) = header.value { login } else { nil }
      }.first
    }
  }
}
