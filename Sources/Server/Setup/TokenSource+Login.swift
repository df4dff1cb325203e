internal import Configuration
internal import Secrets

extension TokenSource {
  init(_ login: CredentialSettings.Login) {
    self.init(
      credential: login.name, endpoint: login.endpoint, grant: .form(LoginForm(login)),
      client: TokenClient(id: "", authentication: .none))
    trust = login.trust
    allowedAddresses = login.allowedAddresses
    lead = login.renewAhead
    skew = login.skew
    timeout = login.timeout
  }
}

extension LoginForm {
  fileprivate init(_ login: CredentialSettings.Login) {
    let fields = login.fields.map { Field($0.name, FieldValue($0.value)) }
    let result: ExtractedValue =
      switch login.result {
      case .token(let path): .token(path)
      case .cookie(let name): .cookie(name)
      }
    self.init(encoding: login.encoding == .json ? .json : .form, fields: fields, extractedValue: result)
    expiresIn = login.expiresIn
    lifetime = login.lifetime
  }
}
