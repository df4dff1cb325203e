internal import JSON
@_spi(SecretBytes) internal import Secrets

/// Reads the output of docker-credential-helpers: a JSON object with `Username` and `Secret`.
extension HelperOutputReader {
  func dockerCredential(_ output: UnsafeRawBufferPointer) throws(SecretProblem) -> SourceValue {
    let document = try json(output)
    let secret = try text("Secret", of: document)
    let isToken = document.withText("Username") { isOneOf($0, ["<token>"]) } ?? false
    // Docker marks an identity token with this user name. The token is not a password.
    if isToken { return SourceValue(secret: secret, isToken: true) }
    let user = try document.withText("Username") { (text) throws(SecretProblem) in try copy(text) }
    guard let user else { throw SecretProblem("\(name) has no Username") }
    return SourceValue(user: user, secret: secret)
  }
}
