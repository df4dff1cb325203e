import TestServer
import Foundation
import TestSupport
import Testing

extension TokenStage {
  package static let refresh = "SECOND-refresh"
  package static let revoked = TokenServer.Response.raw("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

  /// From now on the server grants a refresh token with each token, and responds to revocations with `response`.
  /// - Parameter before: Called before each response.
  package func enableRevocation(
    _ response: TokenServer.Response = revoked, before: @escaping @Sendable (_ isRevocation: Bool) -> Void = { _ in }
  ) {
    let grant = TokenServer.Response.token(stage.canary, expiresIn: 3600, refresh: Self.refresh)
    let onDecision: @Sendable (UpstreamRequest) -> TokenServer.Response? = { request in
      let isRevocation = request.text.hasPrefix("POST /oauth2/revoke ")
      before(isRevocation)
      return isRevocation ? response : grant
    }
    tokens.onDecision.withLock { $0 = onDecision }
  }

  /// The key `revocation_url` for `oauth2`.
  package var revocation: String { ", revocation_url: \(tokens.url.replacing("/token", with: "/revoke"))" }

  /// The revoked tokens in order, each with its type hint.
  package var revokedTokens: [[String]] {
    tokens.forms.filter { $0["token"] != nil }.map { [$0["token_type_hint"] ?? "", $0["token"] ?? ""] }
  }
}

extension Stage {
  /// Logs a credential out and returns the report that `bearerctl logout` would get.
  @discardableResult
  package func logOut(_ credential: String = "canary") throws -> [String: Any] {
    let text = try control("logout \(credential)")
    guard text.hasPrefix("ok\n") else { throw TestFailure(text) }
    for form in Self.encodings(of: canary) { #expect(!text.contains(form)) }
    return try #require(try JSONSerialization.jsonObject(with: Data(text.utf8.dropFirst(3))) as? [String: Any])
  }

  /// Adds a second credential from a file on the same host, with its services.
  /// - Parameter services: Names of the services, which are also their paths.
  package func addSecondCredential(_ services: [String] = ["second"], in configuration: String) throws -> String {
    try scratch.write("second.token", Self.secondSecret)
    let lines = services.map { name in
      "  \(name): { upstream: \(origin)/base/, ca_file: ca.pem, pins: [\(leaf.pin), \(backup.pin)], credential: second }"
    }
    return configuration.replacing(
      "services:\n",
      with: """
          second:
            origins: ["\(origin)"]
            bearer: { file: second.token }
        services:
        \(lines.joined(separator: "\n"))

        """)
  }

  package static let secondSecret = "SECOND-secret"
}

extension [String: Any] {
  /// Of a logout report: the number of aborted items of each kind.
  package var cut: [String: Int] { self["cut"] as? [String: Int] ?? [:] }

  /// Of a logout report: each token with its problem, which is empty after a successful revocation.
  package var revoked: [[String]] {
    (self["revoked"] as? [[String: Any]] ?? []).map { [$0["token"] as? String ?? "", $0["problem"] as? String ?? ""] }
  }
}
