/// `store` of `oauth2`: where a refresh token is kept that has taken the place of the first one (T39).
extension SettingsReader {
  /// Absolute.
  func store(_ fields: Fields<OAuth2Key>, of name: String) -> String? {
    let place = fields[.store]?.place ?? fields.place
    let path: String
    if let node = fields[.store] {
      guard let text = self.path(node, "the path of a file") else { return nil }
      path = text
    } else if let directory = environment.stateDirectory {
      path = "\(directory)/\(name).login"
    } else {
      report.error(
        place, "there is no directory to store the login: neither STATE_DIRECTORY nor HOME is set",
        help: "add store: /PATH/\(name).login")
      return nil
    }
    named.add(path, .store, at: place)
    return path
  }

  /// One file, one login.
  func checkStores(_ credentials: [CredentialDraft]) {
    var taken: [String: CredentialDraft] = [:]
    let sources = Set(credentials.flatMap { $0.settings?.sources ?? [] }.compactMap(\.filePath))
    for credential in credentials {
      guard case .bearer(.token(let token)) = credential.scheme, let store = token.store else { continue }
      if let other = taken[store] {
        report.error(
          credential.place,
          "\(store) is already the store of credential \"\(other.name)\" (\(report.line(other.place, seenFrom: credential.place)))",
          help: "choose another store for this credential")
      } else if sources.contains(store) {
        report.error(
          credential.place, "\(store) is the source of a secret, and the stored login would overwrite it",
          help: "choose another file for the store")
      }
      taken[store] = credential
    }
  }
}

extension CredentialSettings.Source {
  fileprivate var filePath: String? {
    switch self {
    case .file(let path): path
    case .systemd, .env, .command, .userOfCommand, .token, .login: nil
    }
  }
}
