package import TestServer
import Foundation
package import TestSupport
package import Testing

/// A stage whose credential comes from a token endpoint. The token is the canary.
/// Client secret and refresh tokens may appear only at the endpoint.
package final class TokenStage {
  package let stage: Stage
  package let tokens: TokenServer
  package let clientSecret = "CLIENT-" + UUID().uuidString
  package let first = "FIRST-" + UUID().uuidString
  private let leaf: Certificate

  package init(handler: (@Sendable (AcceptedConnection) -> Void)? = nil) throws {
    stage = try Stage(handler: handler)
    leaf = try Stage.leaf(issuer: stage.ca)
    tokens = try TokenServer(leaf)
    tokens.respond(with: .token(stage.canary, expiresIn: 3600))
    try stage.scratch.write("client.secret", clientSecret + "\n")
    try stage.scratch.write("first.token", first + "\n")
  }

  /// Asserts that the secrets sent to the endpoint appear nowhere else.
  package func assertSecrets(times: Int, sourceLocation: SourceLocation = #_sourceLocation) {
    stage.assertCanary(times: times, sourceLocation: sourceLocation)
    for secret in [clientSecret, first] + refreshTokens {
      stage.assertCanary(times: 0, as: secret, secret: secret, sourceLocation: sourceLocation)
    }
  }

  /// Refresh tokens that the server granted or received.
  private var refreshTokens: [String] {
    Array(
      Set(tokens.forms.flatMap { [$0["refresh_token"], $0["token"]].compactMap(\.self) }.filter { $0 != stage.canary }))
  }

  package var store: String { stage.scratch.path + "/canary.login" }

  package static let machine = "grant: client_credentials"
  package static let person = "grant: refresh_token, refresh_token: { file: first.token }, store: canary.login"

  /// - Parameters:
  ///   - grant: The key `grant` with its own keys.
  ///   - more: Further keys of `oauth2`, each with a comma before it.
  package func configuration(
    _ grant: String = machine, more: String = "", pins: [String]? = nil, url: String? = nil, services: String = "",
    workers: Int? = nil
  ) -> String {
    let pins = (pins ?? [leaf.pin, stage.backup.pin]).joined(separator: ", ")
    let oauth2 =
      "token_url: \(url ?? tokens.url), \(grant), client_id: bearerd, client_secret: { file: client.secret }, ca_file: ca.pem, pins: [\(pins)]\(more)"
    return stage.configuration(
      credential: "oauth2: { \(oauth2) }",
      more: "control: control.sock\n" + (workers.map { "\nworkers: \($0)\n" } ?? ""), services: services)
  }

  @discardableResult
  package func start(
    _ grant: String = machine, more: String = "", pins: [String]? = nil, url: String? = nil, services: String = "",
    workers: Int? = nil
  ) throws -> any TestedDaemon {
    try stage.start(
      configuration(grant, more: more, pins: pins, url: url, services: services, workers: workers))
  }

  package var log: DaemonLog { stage.log }

  /// Lets the token server accept the newest refresh token, and the previous one until the newest is used. Servers do
  /// this because a response can be lost.
  package func rotateRefreshTokens() {
    let state = Guarded((count: 0, good: [first]))
    let (tokens, canary) = (tokens, stage.canary)
    let onRequest: @Sendable (UpstreamRequest) -> Void = { [unowned tokens] request in
      let shown = request.form["refresh_token"] ?? ""
      let response: TokenServer.Response = state.withLock { state in
        guard state.good.contains(shown) else { return .error(400, "invalid_grant") }
        state.count += 1
        let next = "ROTATED-\(state.count)"
        state.good = [shown, next]
        return .token(canary, expiresIn: 3600, refresh: next)
      }
      tokens.respond(with: response)
    }
    tokens.onRequest.withLock { $0 = onRequest }
  }

  /// Sends requests until a response is wanted, and returns it, or `nil` if none was.
  package func ask(until isWanted: (LocalClient.Response) -> Bool, each: (LocalClient.Response) -> Void = { _ in })
    throws
    -> LocalClient.Response?
  {
    var found: LocalClient.Response?
    _ = try eventually {
      let response = try stage.get()
      if isWanted(response) { found = response } else { each(response) }
      return found != nil
    }
    return found
  }
}

extension LocalClient.Response {
  package func isRefused(_ code: String) -> Bool { status == 503 && text.contains("urn:bearerd:error:\(code)\"") }
}
