internal import Console
internal import StatusModel

/// The credentials that have a login or need a person to act, with their states and the commands to run.
struct LoginList: CustomStringConvertible {
  private let rows: [[String]]
  private let terminal: Terminal

  init(_ status: DaemonStatus, terminal: Terminal) {
    self.terminal = terminal
    rows = status.credentials.compactMap { credential in
      let name = credential.name.harmless
      if isOfLogin(credential.kind, hasToken: credential.token != nil) {
        return [name, Self.state(credential), "bearerctl login \(name)"]
      }
      guard credential.token?.loginRequired == true, !credential.available else { return nil }
      let action =
        credential.kind.hasSuffix("refresh_token") ? "put a new refresh token into its source" : "bearerctl status"
      return [name, Self.state(credential), action]
    }
  }

  private static func state(_ credential: DaemonStatus.Credential) -> String {
    if credential.loggedOut { return "logged out" }
    guard credential.available else {
      return credential.token?.renewing == true ? "waits for a token" : "login required"
    }
    return "logged in" + (credential.token?.secondsLeft.map { ", token valid for \(Age($0))" } ?? "")
  }

  var description: String {
    if rows.isEmpty {
      return """
        No credential needs a login. Only oauth2 with grant device_code or authorization_code has a login, and oauth1 with \
        request_token_url.\n
        """
    }
    let widths = (0..<2).map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      "\(terminal.bold(row[0].padded(to: widths[0])))  \(row[1].padded(to: widths[1]))  \(row[2])\n"
    }.joined()
  }
}

/// Whether a person can log in with `bearerctl login`.
/// - Parameters:
///   - kind: the kind of the credential, as `status` and `logout` report it.
///   - hasToken: whether bearerd gets the token itself. An `oauth1` credential without a login has its token from a source.
func isOfLogin(_ kind: String, hasToken: Bool) -> Bool {
  ["device_code", "authorization_code"].contains(where: kind.hasSuffix) || (hasToken && kind.hasSuffix("oauth1"))
}
