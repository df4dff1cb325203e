package import Policy

/// A credential's scheme and the sources of its secrets. Contains no secret.
package struct CredentialSettings: Sendable, Equatable {
  /// The client certificate for upstreams that request one in TLS. Contains no secret.
  package struct ClientCertificate: Sendable, Equatable {
    /// The absolute path of a PEM file, which begins with the client's own certificate.
    package let file: String
    /// The source of the private key: a file or a systemd credential.
    package let key: SecretSource
    /// The source of the key's passphrase: a file or a systemd credential. `nil` if the key is not encrypted.
    package let passphrase: SecretSource?

    package init(file: String, key: SecretSource, passphrase: SecretSource?) {
      self.file = file
      self.key = key
      self.passphrase = passphrase
    }

    /// Text that is equal for equal certificates and keys.
    package var identifier: String { "\(file)\n\(key.summary)\n\(passphrase?.summary ?? "")" }
  }

  package let name: String
  package let scheme: AuthScheme
  /// When to suspend the credential after repeated rejections. `nil` for never.
  package let suspension: Suspension?
  package let line: Int
  package let certificate: ClientCertificate?
  /// Whether a new value ends what the old value opened (`on_change: cut`).
  package let cutsOnChange: Bool

  package init(
    name: String, scheme: AuthScheme, suspension: Suspension?, line: Int, certificate: ClientCertificate? = nil,
    cutsOnChange: Bool = false
  ) {
    self.name = name
    self.scheme = scheme
    self.suspension = suspension
    self.line = line
    self.certificate = certificate
    self.cutsOnChange = cutsOnChange
  }

  package var isCombined: Bool { if case .all = scheme { true } else { false } }

  /// The `oauth2` of the credential, or the login of its `oauth1`.
  package var oauth2: TokenSource? {
    guard !isCombined, let token = scheme.token, token.form == nil else { return nil }
    return token
  }

  package var login: TokenSource? { scheme.login }

  package var sources: [SecretSource] { scheme.secretSources }

  /// The sources of all secrets, including the private key of the client certificate and its passphrase.
  package var allSources: [SecretSource] { sources + [certificate?.key, certificate?.passphrase].compactMap(\.self) }

  /// Whether the credential can get a new value without a user's action.
  package var changesByItself: Bool {
    if case .registry = scheme { return false }
    return allSources.contains {
      switch $0 {
      case .command, .userOfCommand, .token: true
      case .file, .systemd, .env: false
      }
    }
  }

  /// What the credential is, for the status, such as `basic` or `oauth2 client_credentials`.
  package var kind: String {
    if let oauth2 { return oauth2.oauth1 == nil ? "oauth2 \(oauth2.grantName)" : "oauth1" }
    if login != nil { return "login" }
    if certificate != nil, sources.isEmpty { return "client_certificate" }
    switch scheme {
    case .bearer: return "bearer"
    case .basic: return "basic"
    case .headers: return "headers"
    case .digest: return "digest"
    case .registry: return "registry"
    case .query: return "query"
    case .oauth1: return "oauth1"
    case .all: return "several"
    }
  }
}
