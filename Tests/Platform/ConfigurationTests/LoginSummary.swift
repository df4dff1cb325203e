@testable import Configuration
import Policy

/// The settings of a `login` that differ from their defaults, as text.
enum LoginSummary {
  static func text(
    _ login: CredentialSettings.Login, _ source: (CredentialSettings.Source) -> String
  ) -> String {
    let fields = login.fields.map { field in
      switch field.value {
      case .plain(let text): "\(field.name)=\(text)"
      case .secret(let secret): "\(field.name)=\(source(secret))"
      }
    }
    let result =
      switch login.result {
      case .token(let path): "token \(path.joined(separator: "."))"
      case .cookie(let name): "cookie \(name)"
      }
    let more: [(String, String?)] = [
      ("expires in", login.expiresIn?.joined(separator: ".")), ("lifetime", login.lifetime.map { "\($0)" }),
      ("trusts", login.trust.caFile), ("pins", list(login.trust.pinning.pins.map(\.description))),
      ("blocks", login.allowedAddresses.isEmpty ? nil : "\(login.allowedAddresses.count)"),
      ("ahead", login.renewAhead == 60_000 ? nil : "\(login.renewAhead)"),
      ("skew", login.skew == 10_000 ? nil : "\(login.skew)"),
      ("timeout", login.timeout == 10_000 ? nil : "\(login.timeout)"),
      ("buffer", login.replayBuffer == 65_536 ? nil : "\(login.replayBuffer)"),
      ("refresh on", list(login.refreshOn.map(text))),
    ]
    return "\(result) of \(login.endpoint) by \(login.encoding.rawValue) \(fields)"
      + more.compactMap { name, value in value.map { " \(name) \($0)" } }.joined()
  }

  static func text(_ sign: ExpirySigns.Sign) -> String {
    let field = sign.field.map { sign in
      let path = sign.path.map { String(decoding: $0, as: UTF8.self) }.joined(separator: ".")
      return " \(path)=\(String(decoding: sign.value, as: UTF8.self))"
    }
    return "\(sign.status)\(field ?? "")"
  }

  private static func list(_ words: [String]) -> String? { words.isEmpty ? nil : "\(words)" }
}
