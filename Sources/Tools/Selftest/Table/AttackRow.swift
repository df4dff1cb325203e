internal import Console

/// One message of the table of attacks, and what has to come of it.
package struct AttackRow: Sendable {
  package enum Expectation: Sendable {
    /// bearerd answers, once and with one of these statuses and codes (none: any), and no whole request goes out.
    case refused([Int], codes: [String] = [])
    /// One request goes out, with the upstream's own Host and with our credential, and is answered with 200. Where a credential is
    /// added, none of these words stands in it.
    case passed(without: [String])
    /// The wording of `refused` or `passed`.
    case harmless(without: [String])
    /// Refused, or every way to read the path that goes out is one that the rules let through.
    case inside
    /// The client gets an answer with one of these statuses, without any of these words; and no other request goes
    /// out on its connection.
    case contained([Int], without: [String])
    /// The client gets an answer with one of these statuses, without any of these words in its head, and with this
    /// line (nil: any) if it is not 502.
    case cleaned([Int], without: [String], with: String? = nil)
  }

  /// The places at which a row can be played.
  package enum Concern: Sendable {
    case everything
    /// Listeners with a port.
    case ports
    /// Places where a credential is added.
    case credentials
    /// Places where a credential is added and the client may not set this field or parameter all the same.
    case name(String)
    /// Places where a credential is added by a field.
    case ownField
  }

  /// Number of the threat in docs/security/threats.md.
  package let threat: Int
  package let name: String
  /// The request, with words that `AttackPlace` replaces.
  let request: String
  /// The upstream's answer; nil: 200.
  let answer: String?
  let concern: Concern
  package let expectation: Expectation

  init(
    _ threat: Int, _ name: String, _ request: String, _ expectation: Expectation, _ concern: Concern = .everything,
    answer: String? = nil
  ) {
    self.threat = threat
    self.name = name
    self.request = request
    self.answer = answer
    self.concern = concern
    self.expectation = expectation
  }

  var isOfOwnField: Bool { if case .ownField = concern { true } else { false } }

  /// The ordinary request with more lines.
  static func fields(
    _ threat: Int, _ lines: String, body: String = "", _ expectation: Expectation, _ concern: Concern = .everything
  ) -> AttackRow {
    let more = lines.isEmpty ? "" : lines + "\r\n"
    return AttackRow(
      threat, lines.replacing("\r\n", with: ", ").harmless,
      "{method} {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: bearerctl-selftest\r\nConnection: close\r\n\(more)\r\n\(body)",
      expectation, concern)
  }

  /// A request for another target.
  static func target(
    _ threat: Int, _ target: String, _ expectation: Expectation, _ concern: Concern = .everything,
    method: String = "{method}"
  ) -> AttackRow {
    AttackRow(
      threat, target.harmless, "\(method) \(target) HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n", expectation,
      concern)
  }

  /// A request with other lines for its Host.
  static func host(_ threat: Int, _ lines: String, _ statuses: [Int], target: String = "{path}") -> AttackRow {
    AttackRow(
      threat, lines.isEmpty ? "no Host" : lines.replacing("\r\n", with: ", ").harmless,
      "{method} \(target) HTTP/1.1\r\n\(lines)\(lines.isEmpty ? "" : "\r\n")Connection: close\r\n\r\n",
      .refused(statuses), .ports)
  }

  /// A row by what the upstream answers to the ordinary request.
  static func answer(
    _ threat: Int, _ name: String, _ answer: String, _ expectation: Expectation, _ concern: Concern = .everything
  ) -> AttackRow {
    AttackRow(
      threat, name, "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n", expectation, concern,
      answer: answer)
  }
}
