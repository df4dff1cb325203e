internal import Primitives
internal import Settings
internal import TestServer

/// A test secret, and the only header field in which bearerd may send it.
struct Canary {
  let credential: Int
  let secret: String
  let file: String
  /// Name of the header field, spelled as in the configuration.
  let field: String
  let value: String

  static func secrets(for settings: DaemonSettings) -> [String: String] {
    var secrets: [String: String] = [:]
    for credential in settings.credentials {
      let count =
        switch credential.scheme {
        case .bearer, .query, .oauth1, .registry: 1
        // A combined credential has no sources of its own.
        case .all: 0
        case .basic, .digest: 2
        case .headers(let headers): max(1, headers.count)
        }
      for index in 0..<count { secrets[TestConfiguration.secretFile(credential.name, index)] = random() }
    }
    return secrets
  }

  static func all(of settings: DaemonSettings, _ secrets: [String: String]) -> [Canary] {
    func secret(_ source: SecretSource) -> (file: String, secret: String)? {
      guard case .file(let path) = source, let file = path.split(separator: "/").last.map(String.init) else {
        return nil
      }
      return secrets[file].map { (file, $0) }
    }
    func canaries(_ index: Int, _ scheme: AuthScheme) -> [Canary] {
      switch scheme {
      case .bearer(let source):
        return secret(source).map { [Canary(index, $0, "Authorization", "Bearer \($0.secret)")] } ?? []
      case .basic(let user, let password):
        func known(_ value: FieldValue) -> (file: String, secret: String)? {
          if case .secret(let source) = value { secret(source) } else { nil }
        }
        // If the password is empty, the user name is the secret.
        guard let canary = known(password) ?? known(user) else { return [] }
        let name = user.plainText ?? known(user)?.secret ?? ""
        let pair = Base64.encode(Array("\(name):\(known(password)?.secret ?? "")".utf8))
        return [Canary(index, canary, "Authorization", "Basic \(pair)")]
      // The test configuration replaces these schemes.
      case .digest, .registry, .query, .oauth1: return []
      case .headers(let headers):
        return headers.compactMap { header in
          guard case .secret(let source) = header.value, let secret = secret(source) else { return nil }
          return Canary(index, secret, header.name, header.prefix + secret.secret)
        }
      case .all(let schemes): return schemes.flatMap { canaries(index, $0) }
      }
    }
    return settings.credentials.enumerated().flatMap { canaries($0, $1.scheme) }
  }

  /// Returns the value of the header field, with `other` in place of the secret.
  func value(with other: String) -> String {
    guard value.hasPrefix("Basic "), !value.contains(secret) else { return value.replacing(secret, with: other) }
    let pair = Base64.decode(Array(value.utf8.dropFirst("Basic ".utf8.count))) ?? []
    let text = String(decoding: pair, as: UTF8.self).replacing(secret, with: other)
    return "Basic \(Base64.encode(Array(text.utf8)))"
  }

  /// The secret in one encoding, such as base64.
  struct Encoding {
    let name: String
    /// The encoded text to search for. In base64, without the characters at its ends.
    let text: String
    /// The encoded text to send.
    let whole: String

    init(_ name: String, _ text: String, whole: String? = nil) {
      self.name = name
      self.text = text
      self.whole = whole ?? text
    }
  }

  /// The secret in all encodings that the self-test sends.
  var encodings: [Encoding] {
    let bytes = Array(secret.utf8)
    var forms = [
      Encoding("in plain text", secret),
      Encoding("escaped for a URL", secret.replacing("/", with: "%2F").replacing("+", with: "%2B")),
      Encoding("escaped for JSON", secret.replacing("/", with: "\\/")),
      Encoding("in hexadecimal", ASCII.hexadecimal(bytes)),
    ]
    for offset in 0..<3 {
      let whole = Base64.encode(Array(repeating: 0x3A, count: offset) + bytes)
      forms.append(Encoding("in base64", String(whole.dropFirst(offset == 0 ? 0 : 4).dropLast(4)), whole: whole))
    }
    if value.hasPrefix("Basic ") { forms.append(Encoding("as Basic", String(value.dropFirst("Basic ".count)))) }
    return forms
  }

  private init(_ credential: Int, _ source: (file: String, secret: String), _ field: String, _ value: String) {
    self.credential = credential
    secret = source.secret
    file = source.file
    self.field = field
    self.value = value
  }

  private static func random() -> String {
    // "/" and "+" are characters that URLs or JSON escape.
    "CANARY-\(randomText(12))/\(randomText(12))+x"
  }
}
