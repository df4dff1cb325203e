/// The convention by which a program says a secret: what it is asked, and how its answer reads. Names only, no secret.
package enum CommandFormat: Sendable, Hashable {
  /// The program is asked nothing, and its whole output is the secret.
  case text
  /// gitcredentials(7). `stores`: it is told of a value that was accepted, too.
  case gitCredential(GitDescription, stores: Bool)
  /// Kubernetes' client.authentication.k8s.io/v1 and v1beta1.
  case execCredential
  /// docker-credential-helpers. The server is called as it was at `docker login`.
  case dockerCredential(server: String)

  /// As the configuration calls it.
  package var name: String {
    switch self {
    case .text: "text"
    case .gitCredential: "git-credential"
    case .execCredential: "exec-credential"
    case .dockerCredential: "docker-credential"
    }
  }

  /// Whether an answer has the name of a user as well.
  package var givesUser: Bool {
    switch self {
    case .gitCredential, .dockerCredential: true
    case .text, .execCredential: false
    }
  }

  /// Whether it is to hear that an upstream has rejected what it gave.
  package var hearsRejections: Bool {
    switch self {
    case .gitCredential, .execCredential: true
    case .text, .dockerCredential: false
    }
  }

  /// Whether it can be told to forget what it gave.
  package var forgets: Bool {
    switch self {
    case .gitCredential: true
    case .text, .execCredential, .dockerCredential: false
    }
  }

  /// Whether it is to hear that an upstream has accepted what it gave.
  package var hearsSuccess: Bool {
    switch self {
    case .gitCredential(_, let stores): stores
    case .text, .execCredential, .dockerCredential: false
    }
  }
}

/// The question to a git credential helper. No text has control characters in it: each is a line of its own.
package struct GitDescription: Sendable, Hashable {
  /// With the port, unless it is the scheme's own. The protocol is always https.
  package let host: String
  /// Without its first slash; nil: of any path.
  package let path: String?
  /// nil: of any user.
  package let user: String?
  /// Whether a token with its scheme (`authtype`, `credential`) is of use, instead of a password.
  package let takesToken: Bool

  package init(host: String, path: String?, user: String?, takesToken: Bool) {
    self.host = host
    self.path = path
    self.user = user
    self.takesToken = takesToken
  }
}
