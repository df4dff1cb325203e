import Policy
import Settings

/// The settings of a `login` that differ from their defaults, as text.
enum LoginSummary {
  static func text(
    _ login: TokenSource, _ form: LoginForm, _ grant: Grant, _ source: (SecretSource) -> String
  ) -> String {
    let fields = form.fields.map { text($0, source) }
    let result =
      switch form.extractedValue {
      case .token(let path): "token \(path.joined(separator: "."))"
      case .cookie(let name): "cookie \(name)"
      }
    let more: [(String, String?)] = [
      ("headers", list(login.headers.map { text($0, source) })),
      ("expires in", form.expiresIn?.joined(separator: ".")), ("lifetime", form.lifetime.map { "\($0)" }),
      ("trusts", login.trust.caFile), ("lists", login.trust.revocation?.listFile),
      ("stapling", login.trust.revocation?.stapling?.rawValue),
      ("pins", list(login.trust.pinning.pins.map(\.description))),
      ("blocks", login.allowedAddresses.isEmpty ? nil : "\(login.allowedAddresses.count)"),
      ("ahead", login.lead == 60_000 ? nil : "\(login.lead)"),
      ("skew", login.skew == 10_000 ? nil : "\(login.skew)"),
      ("timeout", login.timeout == 10_000 ? nil : "\(login.timeout)"),
      ("buffer", grant.replayBuffer == 65_536 ? nil : "\(grant.replayBuffer ?? 0)"),
      ("refresh on", list(grant.expiry.more.map(text))),
    ]
    return "\(result) of \(login.endpoint) by \(form.encoding.rawValue) \(fields)"
      + more.compactMap { name, value in value.map { " \(name) \($0)" } }.joined()
  }

  static func text(_ field: LoginForm.Field, _ source: (SecretSource) -> String) -> String {
    switch field.value {
    case .plain(let text): "\(field.name)=\(text)"
    case .secret(let secret): "\(field.name)=\(source(secret))"
    }
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
