internal import Policy
internal import System

/// The arguments, environment and input that a program is started with, in its convention.
package struct HelperRequest: ~Copyable {
  /// The wish to a program: a value; that it forgets the one that it gave, or keeps it. git's alone knows more than `get`.
  package enum Verb: Sendable, Equatable { case get, erase, store }

  let words: [String]
  let variables: [String]
  /// nil: nothing.
  private(set) var input: Secret?

  init(_ verb: Verb, of command: SecretCommand, in arena: SecretArena) throws(SystemError) {
    words = command.words + command.format.words(for: verb)
    variables = command.format.variables
    input = try command.format.question(in: arena)
  }

  /// Adds the value that `erase` and `store` are about, as git does: so that a helper which has been given another value
  /// meanwhile keeps that.
  mutating func add(_ answer: borrowing SourceValue) throws(SystemError) {
    guard var question = input.take() else { return }
    // Before the empty line
    question.removeLast(1)
    try answer.write(to: &question)
    try question.append("\n")
    input = consume question
  }

  borrowing func start(mustLock: Bool) throws(SystemError) -> HelperProcess {
    switch input {
    case .none:
      return try HelperProcess(
        words: words, variables: variables, limit: SecretFile.maximumSize, mustLock: mustLock)
    case .some(let input):
      return try input.withBytes { (bytes) throws(SystemError) in
        try HelperProcess(
          words: words, variables: variables, input: bytes, limit: SecretFile.maximumSize, mustLock: mustLock)
      }
    }
  }
}

extension CommandFormat {
  fileprivate func words(for verb: HelperRequest.Verb) -> [String] {
    switch self {
    case .text, .execCredential: []
    case .dockerCredential: ["get"]
    case .gitCredential:
      switch verb {
      case .get: ["get"]
      case .erase: ["erase"]
      case .store: ["store"]
      }
    }
  }

  /// Environment variables with the question, as Kubernetes' convention has it: the helper cannot ask a person anything.
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

  /// On the program's standard input. No secret, but what follows it can be one.
  fileprivate func question(in arena: SecretArena) throws(SystemError) -> Secret? {
    switch self {
    case .text, .execCredential: return nil
    case .dockerCredential(let server):
      var question = try Secret(capacity: server.utf8.count, in: arena)
      try question.append(server)
      return question
    case .gitCredential(let description, _):
      var question = try Secret(capacity: 256, in: arena)
      if description.takesToken { try question.append("capability[]=authtype\n") }
      try question.append("protocol=https\nhost=\(description.host)\n")
      if let path = description.path { try question.append("path=\(path)\n") }
      if let user = description.user { try question.append("username=\(user)\n") }
      try question.append("\n")
      return question
    }
  }
}

extension SourceValue {
  /// As lines of git's convention. The values came in such lines, so nothing in them can end one.
  fileprivate borrowing func write(to question: inout Secret) throws(SystemError) {
    switch user {
    case .none: break
    case .some(let user):
      try question.append("username=")
      try user.withBytes { (bytes) throws(SystemError) in try question.append(bytes) }
      try question.append("\n")
    }
    try question.append(isToken ? "authtype=Bearer\ncredential=" : "password=")
    try secret.withBytes { (bytes) throws(SystemError) in try question.append(bytes) }
    try question.append("\n")
  }
}
