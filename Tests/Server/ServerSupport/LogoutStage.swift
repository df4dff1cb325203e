import TestServer
import Foundation
import TestSupport
import Testing

extension TokenStage {
  package static let refresh = "SECOND-refresh"
  package static let revoked = TokenServer.Answer.raw("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

  /// From now on the server gives a refresh token with each token, and answers so to whoever gives some back.
  /// - Parameter before: called before either.
  package func revokes(
    _ answer: TokenServer.Answer = revoked, before: @escaping @Sendable (_ isRevocation: Bool) -> Void = { _ in }
  ) {
    let grant = TokenServer.Answer.token(stage.canary, expiresIn: 3600, refresh: Self.refresh)
    let onDecision: @Sendable (UpstreamRequest) -> TokenServer.Answer? = { request in
      let isRevocation = request.text.hasPrefix("POST /oauth2/revoke ")
      before(isRevocation)
      return isRevocation ? answer : grant
    }
    tokens.onDecision.withLock { $0 = onDecision }
  }

  /// A key of `oauth2`.
  package var revocation: String { ", revocation_url: \(tokens.url.replacing("/token", with: "/revoke"))" }

  /// What was given back, in order, with what it was called.
  package var givenBack: [[String]] {
    tokens.forms.filter { $0["token"] != nil }.map { [$0["token_type_hint"] ?? "", $0["token"] ?? ""] }
  }
}

extension Stage {
  /// What `bearerctl logout` would get.
  @discardableResult
  package func logOut(_ credential: String = "canary") throws -> [String: Any] {
    let text = try control("logout \(credential)")
    guard text.hasPrefix("ok\n") else { throw TestFailure(text) }
    for form in Self.encodings(of: canary) { #expect(!text.contains(form)) }
    return try #require(try JSONSerialization.jsonObject(with: Data(text.utf8.dropFirst(3))) as? [String: Any])
  }

  /// A second credential from a file on the same host, and services of it.
  /// - Parameter services: names, each at its path.
  package func second(_ services: [String] = ["second"], in configuration: String) throws -> String {
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
  /// Of a logout: what it has cut, by kind.
  package var cut: [String: Int] { self["cut"] as? [String: Int] ?? [:] }

  /// Of a logout: what became of each token; empty: it was given back.
  package var revoked: [[String]] {
    (self["revoked"] as? [[String: Any]] ?? []).map { [$0["token"] as? String ?? "", $0["problem"] as? String ?? ""] }
  }
}
