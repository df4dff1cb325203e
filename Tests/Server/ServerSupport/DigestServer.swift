package import TestServer
import Foundation
package import Policy
import Crypto
import TestSupport

/// An upstream that requires Digest authentication and verifies it (RFC 7616 section 3.4). It echoes the body.
package final class DigestServer: @unchecked Sendable {
  package struct Rules: Sendable {
    package var user = "deploy"
    package var password: String
    package var hash: DigestHash
    package var isSession: Bool
    /// Further parameters of the challenge, after realm and nonce.
    package var more: String
    /// Number of requests for which a nonce is valid.
    package var uses: Int
    /// Whether an expired nonce gets `stale=true`.
    package var saysStale: Bool
    /// Whether each response names the next nonce.
    package var namesNext: Bool
    /// Further challenges before the Digest challenge.
    package var others: String

    package init(
      password: String = "", hash: DigestHash = .sha256, isSession: Bool = false,
      more: String = ", qop=\"auth\", opaque=\"o\\\"p\"", uses: Int = .max, saysStale: Bool = true,
      namesNext: Bool = false, others: String = ""
    ) {
      self.password = password
      self.hash = hash
      self.isSession = isSession
      self.more = more
      self.uses = uses
      self.saysStale = saysStale
      self.namesNext = namesNext
      self.others = others
    }
  }

  private struct State {
    var rules: Rules
    var issued = 0
    /// Valid nonces, each with the nonce counts seen.
    var nonces: [String: Set<String>] = [:]
    var verdicts: [String] = []
  }

  private let state: Guarded<State>

  package init(_ rules: Rules = Rules()) { state = Guarded(State(rules: rules)) }

  package func expire() { state.withLock { $0.nonces = [:] } }

  package func change(_ edit: (inout Rules) -> Void) { state.withLock { edit(&$0.rules) } }

  /// Verdict for each request: `bare`, `good`, `stale`, `wrong` or `repeated`.
  package var verdicts: [String] { state.withLock(\.verdicts) }

  package func serve(_ connection: AcceptedConnection) {
    while let request = try? connection.readRequest() {
      let (verdict, challenge, next) = state.withLock { Self.evaluate(request, &$0) }
      let body = "echo:" + String(decoding: request.body, as: UTF8.self)
      if verdict == "good" {
        connection.respond(body, fields: next.map { "Authentication-Info: nextnonce=\"\($0)\"\r\n" } ?? "")
      } else {
        connection.respond(
          "the upstream's words", status: "401 Unauthorized", fields: "WWW-Authenticate: \(challenge)\r\n")
      }
    }
  }

  private static func evaluate(
    _ request: UpstreamRequest, _ state: inout State
  ) -> (verdict: String, challenge: String, next: String?) {
    let rules = state.rules
    let verdict = verdict(request, &state)
    state.verdicts.append(verdict)
    let nonce = issue(&state)
    let next = verdict == "good" && rules.namesNext ? nonce : nil
    let name = rules.hash.rawValue + (rules.isSession ? "-sess" : "")
    let stale = verdict == "stale" && rules.saysStale ? ", stale=true" : ""
    let challenge =
      "\(rules.others)Digest realm=\"the \\\"realm\\\"\", nonce=\"\(nonce)\", algorithm=\(name)\(rules.more)\(stale)"
    return (verdict, challenge, next)
  }

  private static func issue(_ state: inout State) -> String {
    state.issued += 1
    state.nonces["nonce \(state.issued)"] = []
    return "nonce \(state.issued)"
  }

  private static func verdict(_ request: UpstreamRequest, _ state: inout State) -> String {
    let rules = state.rules
    guard let field = request.text.firstMatch(of: /\r\nAuthorization: Digest ([^\r]*)\r\n/) else {
      return request.text.contains("Authorization") ? "wrong" : "bare"
    }
    var parameters: [String: String] = [:]
    for match in String(field.1).matches(of: /([a-z]+)=("((\\.|[^"\\])*)"|[^",]*)/) {
      parameters[String(match.1)] = String(match.3 ?? match.2).replacing("\\\"", with: "\"")
    }
    func value(_ name: String) -> String { parameters[name] ?? "" }
    func hash(_ text: String) -> String { DigestServer.hash(text, rules.hash) }
    let line = request.text.split(separator: " ")
    var key = hash("\(rules.user):the \"realm\":\(rules.password)")
    if rules.isSession { key = hash("\(key):\(value("nonce")):\(value("cnonce"))") }
    let end = hash("\(line[0]):\(line[1])")
    let middle = rules.more.contains("qop") ? "\(value("nc")):\(value("cnonce")):auth:" : ""
    let isRight =
      value("response") == hash("\(key):\(value("nonce")):\(middle)\(end)") && value("uri") == line[1]
      && value("username") == rules.user && value("realm") == "the \"realm\""
      && (!rules.more.contains("opaque") || value("opaque") == "o\"p")
    guard isRight else { return "wrong" }
    guard let counts = state.nonces[value("nonce")], counts.count < rules.uses else { return "stale" }
    guard middle.isEmpty || !counts.contains(value("nc")) else { return "repeated" }
    state.nonces[value("nonce")] = counts.union([value("nc")])
    return "good"
  }

  private static func hash(_ text: String, _ hash: DigestHash) -> String {
    guard var digest = MessageDigest(hash) else { return "" }
    Array(text.utf8).withUnsafeBytes { digest.add($0) }
    var bytes = [UInt8](repeating: 0, count: hash.size)
    _ = bytes.withUnsafeMutableBytes { digest.finish(into: $0) }
    return bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }
}
