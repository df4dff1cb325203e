internal import Policy

/// Checks for settings that contradict `cookies: jar`.
struct JarChecks: SectionReader {
  let context: ReadingContext
  let credentials: [CredentialDraft]

  func check(_ draft: ServiceDraft) {
    guard draft.service.options.cookies == .jar, let location = draft.cookiesLocation else { return }
    let grants = Set(draft.service.injectedGrants).sorted()
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
