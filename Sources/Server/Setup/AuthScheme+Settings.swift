package import Configuration
internal import Credentials
internal import Secrets

extension AuthScheme {
  init(_ scheme: CredentialSettings.Scheme) {
    switch scheme {
    case .bearer(let source): self = .bearer(SecretSource(source))
    case .basic(let user, let password): self = .basic(user: FieldValue(user), password: FieldValue(password))
    case .headers(let headers):
      self = .headers(headers.map { HeaderTemplate(name: $0.name, prefix: $0.prefix, value: FieldValue($0.value)) })
    case .digest(let digest):
      self = .digest(user: FieldValue(digest.user), password: SecretSource(digest.password), hashes: digest.hashes)
    case .registry(let registry):
      let login: RegistryLogin? =
        if let user = registry.user, let password = registry.password {
          RegistryLogin(user: FieldValue(user), password: SecretSource(password))
        } else {
          nil
        }
      self = .registry(login: login, TokenSource(registry))
    case .query(let name, let value): self = .query(name: name, value: SecretSource(value))
    case .oauth1(let client): self = .oauth1(OAuth1Client(client))
    case .all(let schemes): self = .all(schemes.map { AuthScheme($0) })
    }
  }
}

extension OAuth1Client {
  fileprivate init(_ client: CredentialSettings.OAuth1) {
    self.init(consumerKey: FieldValue(client.consumerKey), consumerSecret: SecretSource(client.consumerSecret))
    token = client.token.map { SecretSource($0) }
    tokenSecret = client.tokenSecret.map { SecretSource($0) }
    realm = client.realm
    switch client.signature {
    case .hmacSHA1: method = .hmacSHA1
    case .plaintext: method = .plaintext
    }
  }
}

extension SecretSource {
  package init(_ source: CredentialSettings.Source) {
    switch source {
    case .file(let path): self = .file(path)
    case .systemd(let name): self = .systemd(name)
    case .env(let name): self = .env(name)
    case .command(let command): self = .command(SecretCommand(command))
    case .userOfCommand(let command): self = .userOfCommand(SecretCommand(command))
    case .token(let token): self = .token(TokenSource(token))
    case .login(let login): self = .token(TokenSource(login))
    }
  }
}

extension SecretCommand {
  fileprivate init(_ command: CredentialSettings.Command) {
    self.init(
      words: [command.path] + command.arguments, format: command.format, timeToLive: command.timeToLive,
      timeout: command.timeout)
  }
}

extension FieldValue {
  init(_ value: CredentialSettings.Value) {
    switch value {
    case .plain(let text): self = .plain(text)
    case .secret(let source): self = .secret(SecretSource(source))
    }
  }
}
