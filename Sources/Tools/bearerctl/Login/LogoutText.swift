internal import Console
internal import StatusModel

struct LogoutText: CustomStringConvertible {
  let report: LogoutResult
  let terminal: Terminal

  var isComplete: Bool { (report.problem ?? nil) == nil && !(report.revoked ?? []).contains { $0.problem != nil } }

  var description: String {
    let lines = ["logged out: \(report.credential.harmless) (\(report.kind.harmless))", "  cut: \(cut)"]
    return (lines + stored + revoked + [afterwards]).joined(separator: "\n") + "\n"
  }

  private var cut: String {
    let cut = report.cut
    let kinds = [
      (cut.waiting, "waiting request", "waiting requests"),
      (cut.underWay, "request in progress", "requests in progress"),
      (cut.answers, "response in progress", "responses in progress"),
      (cut.upgraded, "upgraded connection", "upgraded connections"),
      (cut.idle, "idle connection", "idle connections"), (cut.resumable, "TLS session", "TLS sessions"),
      (cut.cookies, "cookie", "cookies"),
    ]
    let some = kinds.filter { $0.0 > 0 }.map { "\($0.0) \($0.0 == 1 ? $0.1 : $0.2)" }
    return some.isEmpty ? "nothing was using it" : some.joined(separator: ", ")
  }

  private var stored: [String] {
    if let problem = report.problem ?? nil { return ["  \(terminal.bad("not wiped")): \(problem.harmless)"] }
    return (report.store ?? nil).map { ["  wiped: \($0.harmless), which now records only the logout"] } ?? []
  }

  private var revoked: [String] {
    guard let revoked = report.revoked else { return [] }
    if report.hadTokens == false, revoked.isEmpty { return ["  revoked: there was no token"] }
    guard let url = (report.revocation ?? nil)?.harmless else {
      return [
        "  \(terminal.warning("not revoked")): revocation_url is not set, so the tokens stay valid at the server until they expire"
      ]
    }
    let done = revoked.filter { $0.problem == nil }.map { name($0.token) }
    let failed = revoked.compactMap { result in
      result.problem.map { "  \(terminal.bad("not revoked")): \(name(result.token)): \($0.harmless)" }
    }
    if done.isEmpty { return failed.isEmpty ? ["  revoked: there was no token"] : failed }
    return ["  revoked: \(done.joined(separator: ", ")), at \(url)"] + failed
  }

  private func name(_ token: String) -> String { token.replacing("_", with: " ").harmless }

  private var afterwards: String {
    let refused = "Requests with this credential get 503 (login-required)"
    if isOfLogin(report.kind, hasToken: report.login) {
      return "\(refused) until you log in again: bearerctl login \(report.credential.harmless)"
    }
    if report.login { return "\(refused) until you put a new refresh token into its source." }
    let kept = report.sources.map(\.harmless).joined(separator: ", ")
    let back = report.reloadOnly ? "you run bearerctl reload" : "you replace the secret or run bearerctl reload"
    return "\(refused) until \(back). The secret itself is not deleted: \(kept)"
  }
}

/// The result of `bearerctl logout --all` and `bearerctl logout --service`.
struct LogoutsText: CustomStringConvertible {
  let report: LogoutsResult
  let terminal: Terminal

  private var results: [LogoutText] { report.credentials.map { LogoutText(report: $0, terminal: terminal) } }

  var isComplete: Bool { report.failed.isEmpty && results.allSatisfy(\.isComplete) }

  var description: String {
    let failures = report.failed.map { failure in
      "\(terminal.bad("not logged out")): \(failure.credential.harmless): \(failure.problem.harmless)\n"
    }
    let texts = results.map(\.description) + failures
    return texts.isEmpty ? "There is no credential to log out.\n" : texts.joined(separator: "\n")
  }
}
