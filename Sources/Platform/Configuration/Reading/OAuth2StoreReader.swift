internal import Settings

/// Reads `store` of `oauth2`: the file for a stored login or refresh token (T39).
extension SettingsReader {
  /// Returns the path of the file for a stored login, or `nil` after an error.
  func store(_ fields: Fields<OAuth2Key>, of name: String) -> String? {
    let location = fields[.store]?.location ?? fields.location
    let path: String
    if let node = fields[.store] {
      guard let text = self.path(node, "the path of a file") else { return nil }
      path = text
    } else if let directory = environment.stateDirectory {
      path = "\(directory)/\(name).login"
    } else {
      report.error(
        location, "there is no directory to store the login: neither STATE_DIRECTORY nor HOME is set",
        help: "add store: /PATH/\(name).login")
      return nil
    }
    named.add(path, .store, at: location)
    return path
  }

  /// Reports files that two credentials use as `store`, or that are also the source of a secret.
  func checkStores(_ credentials: [CredentialDraft]) {
    var stores: [String: CredentialDraft] = [:]
    let sources = Set(credentials.flatMap { $0.settings?.sources ?? [] }.filter(\.isFile).map(\.name))
    for credential in credentials {
      guard case .bearer(.token(let token)) = credential.scheme, let store = token.store else { continue }
      if let other = stores[store] {
        report.error(
          credential.location,
          "\(store) is already the store of credential \"\(other.name)\" (\(report.line(other.location, seenFrom: credential.location)))",
          help: "choose another store for this credential")
      } else if sources.contains(store) {
        report.error(
          credential.location, "\(store) is the source of a secret, and the stored login would overwrite it",
          help: "choose another file for the store")
      }
      stores[store] = credential
    }
  }
}
