package import TestServer
import Foundation
package import TestSupport

/// A container registry and its token server. The registry accepts only tokens that the token server granted for the
/// scope.
package final class RegistryServer: @unchecked Sendable {
  package struct Rules: Sendable {
    package var user = "deploy"
    package var password = ""
    /// The realm of the challenge, or `nil` for the token server's own.
    package var realm: String?
    package var lifetime = 300
    /// Whether the registry rejects every token.
    package var rejectsAll = false
    /// Whether anonymous token requests are granted.
    package var isOpen = false
  }

  private struct State {
    var rules = Rules()
    /// The scope of each token.
    var granted: [String: String] = [:]
    var asked: [UpstreamRequest] = []
    var verdicts: [String] = []
  }

  private let state = Guarded(State())
  package private(set) var tokens: UpstreamServer!
  /// Called on the token server's thread before it responds.
  package let onAsked = Guarded<(@Sendable () -> Void)?>(nil)

  package init() {}

  package func start(_ certificate: Certificate) throws {
    tokens = try UpstreamServer(chain: [certificate]) { [weak self] connection in
      while let request = try? connection.readRequest() {
        guard let self else { return }
        onAsked.withLock { $0 }?()
        grant(request, connection)
      }
    }
  }

  deinit { tokens.stop() }

  package var realm: String { "https://localhost:\(tokens.port)/auth/token" }

  package func change(_ edit: (inout Rules) -> Void) { state.withLock { edit(&$0.rules) } }
  package func forget() { state.withLock { $0.granted = [:] } }
  package var asked: [UpstreamRequest] { state.withLock(\.asked) }
  /// Verdict of the registry for each request: `bare`, `good` or `wrong`.
  package var verdicts: [String] { state.withLock(\.verdicts) }

  package func serve(_ connection: AcceptedConnection) {
    while let request = try? connection.readRequest() {
      let line = request.text.split(separator: " ")
      let scope = Self.scope(String(line[0]), String(line[1]))
      let (verdict, realm) = state.withLock { state -> (String, String) in
        let token = request.text.firstMatch(of: /\r\nAuthorization: Bearer (\S+)\r\n/).map { String($0.1) }
        let isGood = token.map { state.granted[$0] == scope && !state.rules.rejectsAll }
        state.verdicts.append(isGood.map { $0 ? "good" : "wrong" } ?? "bare")
        return (state.verdicts.last ?? "", state.rules.realm ?? self.realm)
      }
      if verdict == "good" {
        connection.respond("\(scope) " + String(decoding: request.body, as: UTF8.self))
      } else {
        let scope = scope.isEmpty ? "" : ",scope=\"\(scope)\""
        connection.respond(
          "the registry's words", status: "401 Unauthorized",
          fields: "WWW-Authenticate: Bearer realm=\"\(realm)\",service=\"registry.test\"\(scope)\r\n")
      }
    }
  }

  /// Starts a registry whose password is the canary, and a daemon that has a credential for it.
  /// - Parameters:
  ///   - login: the keys of the login, each with a comma after it.
  ///   - more: further keys of `registry`, each with a comma before it.
  package static func stage(
    login: String = "user: deploy, password: { file: canary.token }, ", ca: String = "ca_file: ca.pem",
    more: String = "", configuration: String = ""
  ) throws -> (Stage, RegistryServer) {
    let server = RegistryServer()
    let stage = try Stage(handler: { server.serve($0) })
    try server.start(try Stage.leaf(issuer: stage.ca))
    server.change { $0.password = stage.canary }
    let registry = "registry: { realm: \"\(server.realm)\", \(login)\(ca)\(more) }"
    try stage.start(stage.configuration(credential: registry, more: configuration))
    return (stage, server)
  }

  private static func scope(_ method: String, _ target: String) -> String {
    guard let found = target.firstMatch(of: /\/v2\/(.+)\/(manifests|blobs|tags)\//) else { return "" }
    let action = method == "GET" || method == "HEAD" ? "pull" : method == "DELETE" ? "delete" : "pull,push"
    return "repository:\(found.1):\(action)"
  }

  private func grant(_ request: UpstreamRequest, _ connection: AcceptedConnection) {
    let (token, lifetime) = state.withLock { state -> (String?, Int) in
      state.asked.append(request)
      let rules = state.rules
      let pair = Data("\(rules.user):\(rules.password)".utf8).base64EncodedString()
      let isKnown = request.text.contains("\r\nAuthorization: Basic \(pair)\r\n")
      guard rules.isOpen || isKnown, request.text.hasPrefix("GET /auth/token?service=registry.test") else {
        return (nil, 0)
      }
      let scope = request.text.firstMatch(of: /scope=([^& ]*)/).map { String($0.1) } ?? ""
      let token = "REGISTRY-TOKEN-\(state.asked.count)"
      state.granted[token] = scope.removingPercentEncoding ?? ""
      return (token, rules.lifetime)
    }
    if let token {
      connection.respond(
        "{\"token\":\"\(token)\",\"expires_in\":\(lifetime)}", fields: "Content-Type: application/json\r\n")
    } else {
      connection.respond("{\"details\":\"no\"}", status: "401 Unauthorized")
    }
  }
}
