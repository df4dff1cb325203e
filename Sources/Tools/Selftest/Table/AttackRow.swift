internal import Console

/// One attack of the attack table: a request, and the expected result.
package struct AttackRow: Sendable {
  package enum Expectation: Sendable {
    /// bearerd refuses the request with one of these statuses and codes. An empty list permits any.
    case refused([Int], codes: [String] = [])
    /// The upstream gets the request without these words, and its 200 response arrives.
    case passed(without: [String])
    /// Either `refused` with any status and code, or `passed` without these words.
    case harmless(without: [String])
    /// bearerd refuses the request, or the rules allow every reading of its path.
    case withinRules
    /// The caller gets one of these statuses without these words. bearerd does not reuse the upstream connection.
    case contained([Int], without: [String])
    /// The caller gets one of these statuses, and a head without these words and with the line `with`.
    case cleaned([Int], without: [String], with: String? = nil)
  }

  /// The services to which a row applies.
  package enum Scope: Sendable {
    case everything
    /// Services whose listener has a TCP port.
    case ports
    /// Services for which bearerd adds a credential.
    case credentials
    /// Services with a credential. The client may not send a field of this name, and the credential does not set it.
    case name(String)
    /// Services for which bearerd adds a header field with a known value.
    case ownField
  }

  /// Number of the threat in docs/security/threats.md.
  package let threat: Int
  package let name: String
  /// The request with placeholders.
  let request: String
  /// The upstream's response; `nil` for the default 200 response.
  let response: String?
  let scope: Scope
  package let expectation: Expectation

  init(
    _ threat: Int, _ name: String, _ request: String, _ expectation: Expectation, _ concern: Scope = .everything,
    response: String? = nil
  ) {
    self.threat = threat
    self.name = name
    self.request = request
    self.response = response
    self.scope = concern
    self.expectation = expectation
  }

  var isOfOwnField: Bool { if case .ownField = scope { true } else { false } }

  /// Creates a row for an allowed request with additional header lines.
  static func fields(
    _ threat: Int, _ lines: String, body: String = "", _ expectation: Expectation, _ concern: Scope = .everything
  ) -> AttackRow {
    let more = lines.isEmpty ? "" : lines + "\r\n"
    return AttackRow(
      threat, lines.replacing("\r\n", with: ", ").harmless,
      "{method} {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: bearerctl-selftest\r\nConnection: close\r\n\(more)\r\n\(body)",
      expectation, concern)
  }

  /// Creates a row for a request with this target.
  static func target(
    _ threat: Int, _ target: String, _ expectation: Expectation, _ concern: Scope = .everything,
    method: String = "{method}"
  ) -> AttackRow {
    AttackRow(
      threat, target.harmless, "\(method) \(target) HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n", expectation,
      concern)
  }

  /// Creates a row for a request with other `Host` fields, which bearerd must refuse.
  static func host(_ threat: Int, _ lines: String, _ statuses: [Int], target: String = "{path}") -> AttackRow {
    AttackRow(
      threat, lines.isEmpty ? "no Host" : lines.replacing("\r\n", with: ", ").harmless,
      "{method} \(target) HTTP/1.1\r\n\(lines)\(lines.isEmpty ? "" : "\r\n")Connection: close\r\n\r\n",
      .refused(statuses), .ports)
  }

  /// Creates a row for an allowed request with this response of the upstream.
  static func response(
    _ threat: Int, _ name: String, _ response: String, _ expectation: Expectation, _ concern: Scope = .everything
  ) -> AttackRow {
    AttackRow(
      threat, name, "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n", expectation, concern,
      response: response)
  }
}
