internal import Policy
internal import Settings
internal import System

/// The arguments, environment and standard input for a helper program, in the program's format.
package struct HelperRequest: ~Copyable {
  /// What the helper does with a credential. Only git helpers support `erase` and `store`.
  package enum Verb: String, Sendable { case get, erase, store }

  let words: [String]
  let variables: [String]
  let passedVariables: [String]
  private(set) var input: Secret?

  init(_ verb: Verb, of command: SecretCommand, in arena: SecretArena) throws(SystemError) {
    words = command.words + command.format.words(for: verb)
    variables = command.format.variables
    passedVariables = command.passedVariables
    input = try command.format.input(in: arena)
  }

  /// Adds the rejected or accepted value to the helper's input, for `erase` and `store`.
  mutating func add(_ value: borrowing SourceValue) throws(SystemError) {
    // A helper that already has a newer value can then keep the newer value.
    guard var message = input.take() else { return }
    // The new lines go before the empty line
    message.removeLast(1)
    try value.write(to: &message)
    try message.append("\n")
    input = consume message
  }

  borrowing func start(mustLock: Bool) throws(SystemError) -> HelperProcess {
    switch input {
    case .none:
      return try HelperProcess(
        words: words, variables: variables, passing: passedVariables, limit: SecretFile.maximumSize, mustLock: mustLock)
    case .some(let input):
      return try input.withBytes { (bytes) throws(SystemError) in
        try HelperProcess(
          words: words, variables: variables, passing: passedVariables, input: bytes, limit: SecretFile.maximumSize,
          mustLock: mustLock)
      }
    }
  }
}

extension CommandFormat {
  fileprivate func words(for verb: HelperRequest.Verb) -> [String] {
    switch self {
    case .text, .execCredential: []
    case .dockerCredential: ["get"]
    case .gitCredential: [verb.rawValue]
    }
  }

  /// Environment variables for Kubernetes credential plugins; empty for other formats.
  fileprivate var variables: [String] {
    switch self {
    case .text, .gitCredential, .dockerCredential: []
    case .execCredential:
      [
        #"KUBERNETES_EXEC_INFO={"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","#
          + #""spec":{"interactive":false}}"#
      ]
    }
  }

  fileprivate func input(in arena: SecretArena) throws(SystemError) -> Secret? {
    switch self {
    case .text, .execCredential: return nil
    case .dockerCredential(let server):
      var message = try Secret(capacity: server.utf8.count, in: arena)
      try message.append(server)
      return message
    case .gitCredential(let description, _):
      var message = try Secret(capacity: 256, in: arena)
      if description.acceptsToken { try message.append("capability[]=authtype\n") }
      try message.append("protocol=https\nhost=\(description.host)\n")
      if let path = description.path { try message.append("path=\(path)\n") }
      if let user = description.user { try message.append("username=\(user)\n") }
      try message.append("\n")
      return message
    }
  }
}

extension SourceValue {
  /// Writes the user name and the secret as `key=value` lines for a git helper.
  fileprivate borrowing func write(to message: inout Secret) throws(SystemError) {
    // The values contain no line breaks, because they were read from lines of this format.
    try user.withValue { (user) throws(SystemError) in
      try message.append("username=")
      try user.withBytes { (bytes) throws(SystemError) in try message.append(bytes) }
      try message.append("\n")
    }
    try message.append(isToken ? "authtype=Bearer\ncredential=" : "password=")
    try secret.withBytes { (bytes) throws(SystemError) in try message.append(bytes) }
    try message.append("\n")
  }
}
