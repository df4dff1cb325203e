internal import Policy

/// Checks for settings that contradict `cookies: jar`.
extension SettingsReader {
  func checkJar(_ draft: ServiceDraft, _ credentials: [CredentialDraft]) {
    guard draft.service.options.cookies == .jar, let location = draft.cookiesLocation else { return }
    let grants = Set(draft.service.choices.compactMap(\.grant)).sorted()
    if grants.isEmpty {
      report.error(
        location,
        "a cookie jar needs a credential, but service \"\(draft.service.name)\" adds none to any request",
        help: "write cookies: pass to let callers keep their cookies, or name a credential")
    }
    for index in grants where credentials.indices.contains(index) {
      guard credentials[index].fieldNames.contains(where: { FieldRules.normalized($0) == "cookie" }) else { continue }
      report.error(
        location,
        "credential \"\(credentials[index].name)\" already uses the Cookie field, so a jar cannot use it",
        help: "write cookies: strip or cookies: pass")
    }
    let headers = [draft.service.headers] + (draft.service.rules ?? []).map(\.headers)
    if headers.contains(where: { $0.allowClientHeaders.contains("cookie") }) {
      report.error(
        location, "the jar replaces the caller's cookies, but allow_client_headers lets them pass",
        help: "delete one of the two")
    }
  }
}

extension Service {
  fileprivate var choices: [CredentialChoice] {
    guard let rules else { return [credential] }
    return rules.compactMap { rule in
      switch rule.action {
      case .deny: nil
      case .forward(let choice): choice
      }
    }
  }
}

extension CredentialChoice {
  fileprivate var grant: Int? {
    switch self {
    case .inject(let index): index
    case .none, .pass: nil
    }
  }
}
