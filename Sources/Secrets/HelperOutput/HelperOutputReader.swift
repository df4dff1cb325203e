internal import JSON
internal import Policy
@_spi(SecretBytes) package import Secrets
package import Settings

/// Parses the output of a helper program. Error messages contain no byte of the output.
package struct HelperOutputReader {
  let command: SecretCommand
  let arena: SecretArena
  /// Current time in seconds since 1970.
  let now: Int64

  package init(command: SecretCommand, arena: SecretArena, now: Int64) {
    self.command = command
    self.arena = arena
    self.now = now
  }

  package func read(_ output: UnsafeRawBufferPointer) throws(SecretProblem) -> SourceValue {
    let value: SourceValue
    switch command.format {
    case .text: value = SourceValue(secret: try secretContent(output, name: name, in: arena))
    case .gitCredential(let description, _): value = try gitCredential(output, description)
    case .execCredential: value = try execCredential(output)
    case .dockerCredential: value = try dockerCredential(output)
    }
    if let expiry = value.expiry, expiry <= now {
      let ago = now.subtractingReportingOverflow(expiry).partialValue
      throw SecretProblem("\(name) expired \(ago == 1 ? "1 second" : "\(ago) seconds") ago")
    }
    return value
  }

  /// Reads the output of docker-credential-helpers: a JSON object with `Username` and `Secret`.
  private func dockerCredential(_ output: UnsafeRawBufferPointer) throws(SecretProblem) -> SourceValue {
    let document = try json(output)
    let secret = try text("Secret", of: document)
    let isToken = document.withText("Username") { isOneOf($0, ["<token>"]) } ?? false
    // Docker marks an identity token with this user name. The token is not a password.
    if isToken { return SourceValue(secret: secret, isToken: true) }
    let user = try document.withText("Username") { (text) throws(SecretProblem) in try copy(text) }
    guard let user else { throw SecretProblem("\(name) has no Username") }
    return SourceValue(user: user, secret: secret)
  }

  var name: String { SecretSource.command(command).name }

  func isOneOf(_ value: UnsafeRawBufferPointer, _ words: [String]) -> Bool {
    words.contains { value.elementsEqual($0.utf8) }
  }

  /// Returns a copy of the bytes, or throws if they are empty.
  /// - Parameter what: the name of the bytes in the error message.
  func secret(_ bytes: UnsafeRawBufferPointer, _ what: String) throws(SecretProblem) -> Secret {
    guard !bytes.isEmpty else { throw SecretProblem("\(name) has an empty \(what)") }
    return try copy(bytes)
  }

  func copy(_ bytes: UnsafeRawBufferPointer) throws(SecretProblem) -> Secret {
    try secretCopy(bytes, name: name, in: arena)
  }
}
