/// The input that bearerd gives to a program that outputs a secret, and the format of the output.
package enum CommandFormat: Sendable, Hashable {
  /// No input; the whole output is the secret.
  case text
  /// A git credential helper (gitcredentials(7)). `stores`: whether the program is notified of accepted credentials.
  case gitCredential(GitDescription, stores: Bool)
  /// A Kubernetes credential plugin (client.authentication.k8s.io/v1 or v1beta1).
  case execCredential
  /// A Docker credential helper. `server` is the registry's name at `docker login`.
  case dockerCredential(server: String)

  package var name: String {
    switch self {
    case .text: "text"
    case .gitCredential: "git-credential"
    case .execCredential: "exec-credential"
    case .dockerCredential: "docker-credential"
    }
  }

  package var providesUserName: Bool {
    switch self {
    case .gitCredential, .dockerCredential: true
    case .text, .execCredential: false
    }
  }

  /// Whether bearerd runs the program again when an upstream rejects the credential.
  package var isNotifiedOfRejection: Bool {
    switch self {
    case .gitCredential, .execCredential: true
    case .text, .dockerCredential: false
    }
  }

  package var supportsErase: Bool { if case .gitCredential = self { true } else { false } }

  package var isNotifiedOfSuccess: Bool { if case .gitCredential(_, stores: true) = self { true } else { false } }
}

/// The input of a git credential helper. No value has control characters.
package struct GitDescription: Sendable, Hashable {
  /// The host, with its port unless this is 443.
  package let host: String
  /// The path without its first slash; `nil` if the credential is for any path.
  package let path: String?
  /// `nil` if the credential is for any user.
  package let user: String?
  /// Whether the program may output a token with its scheme (`authtype`, `credential`) instead of a password.
  package let acceptsToken: Bool

  package init(host: String, path: String?, user: String?, acceptsToken: Bool) {
    self.host = host
    self.path = path
    self.user = user
    self.acceptsToken = acceptsToken
  }
}
