package import Policy

extension CredentialSettings {
  /// How a credential begins a session at a login URL: names, paths and public text, no secret.
  package struct Login: Sendable, Equatable {
    package enum Encoding: String, Sendable { case form, json }

    package struct Field: Sendable, Equatable {
      package let name: String
      package let value: Value
    }

    /// The part of the answer that goes out: the text at this place of its JSON, or the cookie of this name.
    package enum Prize: Sendable, Equatable { case token([String]), cookie(String) }

    /// The credential's name.
    package let name: String
    /// https.
    package let endpoint: Endpoint
    package var allowedAddresses: [AddressBlock] = []
    package var trust = TrustPolicy()
    package var encoding: Encoding
    /// In the order of the file; one of them at least is secret.
    package var fields: [Field]
    package var prize: Prize
    package var expiresIn: [String]?
    /// Milliseconds, as are those below.
    package var lifetime: UInt64?
    package var renewAhead = LoginKey.renewAheadDefault
    package var skew = LoginKey.skewDefault
    package var timeout = LoginKey.timeoutDefault
    /// Bytes.
    package var replayBuffer = LoginKey.replayBufferDefault
    package var refreshOn: [ExpirySigns.Sign] = []

    init(name: String, endpoint: Endpoint, encoding: Encoding, fields: [Field], prize: Prize) {
      self.name = name
      self.endpoint = endpoint
      self.encoding = encoding
      self.fields = fields
      self.prize = prize
    }

    /// The sources of the secrets that the login URL is shown.
    package var secrets: [Source] {
      fields.compactMap { field in
        if case .secret(let source) = field.value { source } else { nil }
      }
    }

    package var cookie: String? {
      if case .cookie(let name) = prize { name } else { nil }
    }
  }

  /// nil: its value comes from elsewhere.
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
