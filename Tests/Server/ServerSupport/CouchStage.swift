package import TestServer
import Foundation
package import TestSupport
package import Testing

/// A stage whose upstream requires sessions, like CouchDB: `POST /_session` starts a session, and other requests need
/// its cookie.
/// The value of the first session is the canary.
package final class CouchStage: @unchecked Sendable {
  package struct State: Sendable {
    package var password = ""
    /// Values of the next sessions. Later sessions get random values.
    package var next: [String] = []
    package var good: Set<String> = []
    package var logins: [UpstreamRequest] = []
    /// Attributes of the cookie, after its value.
    package var attributes = "; Version=1; Path=/; HttpOnly"
    /// Header fields of all responses except those to logins.
    package var fields = ""
    /// A raw response to logins, instead of the normal response.
    package var script: String?
    /// The response to a request without a valid session.
    package var rejection = (
      "401 Unauthorized", "", "{\"error\":\"unauthorized\",\"reason\":\"You are not logged in.\"}"
    )
  }

  package private(set) var stage: Stage!
  package let state = Guarded(State())
  package static let name = "jan@example.com"

  package init(password: String = "PASSWORD-" + UUID().uuidString) throws {
    stage = try Stage { [state] connection in
      while let request = try? connection.readRequest() {
        if request.text.hasPrefix("POST /_session ") {
          try? connection.write(Array(state.withLock { Self.login(request, &$0) }.utf8))
        } else {
          let (isIn, fields, no) = state.withLock { ($0.good.contains(Self.session(request)), $0.fields, $0.rejection) }
          connection.respond(isIn ? "hello" : no.2, status: isIn ? "200 OK" : no.0, fields: fields + (isIn ? "" : no.1))
        }
      }
    }
    state.withLock {
      $0.password = password
      $0.next = [stage.canary]
    }
    try stage.scratch.write("couch.password", password + "\n")
  }

  private static func login(_ request: UpstreamRequest, _ state: inout State) -> String {
    state.logins.append(request)
    if let script = state.script { return script }
    let isJSON = request.text.lowercased().contains("content-type: application/json")
    let fields = isJSON ? json(request) : request.form
    guard fields["name"] == name, fields["password"] == state.password else {
      return TokenServer.json(401, "{\"error\":\"unauthorized\",\"reason\":\"QZQZ Name or password is incorrect.\"}")
    }
    let value = state.next.isEmpty ? "SESSION-" + UUID().uuidString : state.next.removeFirst()
    state.good.insert(value)
    let body = "{\"ok\":true,\"data\":{\"token\":\"\(value)\",\"ttl\":3600}}"
    return
      "HTTP/1.1 200 OK\r\nSet-Cookie: other=1; Path=/\r\nSet-Cookie: AuthSession=\(value)\(state.attributes)\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
  }

  private static func json(_ request: UpstreamRequest) -> [String: String] {
    (try? JSONSerialization.jsonObject(with: Data(request.body)) as? [String: String]) ?? [:]
  }

  /// Returns the session from the cookie or a header field.
  private static func session(_ request: UpstreamRequest) -> String {
    let cookie = request.text.firstMatch(of: /Cookie: (?:.*; )?AuthSession=([^;\r]*)/).map { String($0.1) }
    let header = request.text.firstMatch(of: /X-Auth-Token: (\S+)/).map { String($0.1) }
    return cookie ?? header ?? request.text.firstMatch(of: /Authorization: Bearer (\S+)/).map { String($0.1) } ?? ""
  }

  package var logins: [UpstreamRequest] { state.withLock(\.logins) }
  package var log: DaemonLog { stage.log }

  /// - Parameters:
  ///   - fields: How name and password are sent.
  ///   - result: The part of the login response that later requests send.
  package func configuration(
    _ fields: String = "form: { name: \(CouchStage.name), password: { file: couch.password } }",
    _ result: String = "cookie: AuthSession", more: String = "", service: String = "", services: String = "",
    workers: Int? = nil, url: String? = nil
  ) -> String {
    let pins = [stage.leaf.pin, stage.backup.pin].joined(separator: ", ")
    let login =
      "url: \(url ?? stage.origin + "/_session"), \(fields), \(result), ca_file: ca.pem, pins: [\(pins)]\(more)"
    return stage.configuration(
      service: service, credential: "login: { \(login) }",
      more: "control: control.sock\n" + (workers.map { "\nworkers: \($0)\n" } ?? ""), services: services)
  }

  /// Requests of clients at the upstream, without the logins of bearerd.
  package var requests: [String] {
    stage.recorded.components(separatedBy: " HTTP/1.1\r\n").dropFirst().filter {
      !$0.contains("User-Agent: bearerd\r\n")
    }
  }

  /// Asserts that the first session appears only in its field, and the password only in logins.
  package func assertSecrets(times: Int, sourceLocation: SourceLocation = #_sourceLocation) {
    stage.assertCanary(times: times, as: "AuthSession=\(stage.canary)\r\n", sourceLocation: sourceLocation)
    let password = state.withLock(\.password)
    stage.assertCanary(
      times: logins.count, as: "&password=\(password)", secret: password, sourceLocation: sourceLocation)
  }
}
