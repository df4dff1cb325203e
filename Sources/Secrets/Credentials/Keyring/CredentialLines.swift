@_spi(SecretBytes) internal import Secrets
internal import Redaction
internal import Settings
internal import System

/// Renders the complete header fields of a credential, and collects their secrets for the search in responses.
struct CredentialLines {
  let reader: SecretReader

  struct Rendered: ~Copyable {
    let lines: Secret
    let layout: LineLayout
    let patterns: SecretPatterns
  }

  private struct Parts: ~Copyable {
    var lines: Secret
    var parameter: Secret
    var keys: Secret
    var layout = LineLayout()
  }

  func render(_ scheme: AuthScheme) throws(SecretProblem) -> Rendered {
    do {
      var values = try SecretList(in: reader.arena)
      var parts = Parts(
        lines: try Secret(capacity: 256, in: reader.arena), parameter: try Secret(capacity: 1, in: reader.arena),
        keys: try Secret(capacity: 1, in: reader.arena))
      try add(scheme, to: &parts, values: &values)
      let patterns = try SecretPatterns(of: values, in: reader.arena)
      var layout = parts.layout
      guard !layout.isPlain || parts.parameter.count > 0 else {
        return Rendered(lines: (consume parts).lines, layout: layout, patterns: patterns)
      }
      layout.parameter = parts.parameter.count
      var all = try Secret(
        capacity: parts.parameter.count + parts.keys.count + parts.lines.count + 1, in: reader.arena)
      try parts.parameter.withBytes { try all.append($0) }
      try parts.keys.withBytes { try all.append($0) }
      try parts.lines.withBytes { try all.append($0) }
      return Rendered(lines: all, layout: layout, patterns: patterns)
    } catch let problem as SecretProblem {
      throw problem
    } catch let error as SystemError {
      throw SecretProblem("cannot allocate memory for secrets: \(error)")
    } catch {
      throw SecretProblem("the credential cannot be prepared")
    }
  }

  private func add(_ scheme: AuthScheme, to parts: inout Parts, values: inout SecretList) throws {
    switch scheme {
    case .bearer, .basic, .headers, .digest, .registry: try addLines(scheme, to: &parts.lines, values: &values)
    case .query(let name, let source):
      let value = try reader.read(source)
      try value.withBytes { (bytes) throws in
        try checkText(bytes, name: source.name)
        try checkWrapping(bytes, name: source.name)
      }
      if parts.parameter.count > 0 { try parts.parameter.append(UInt8(ascii: "&")) }
      try parts.parameter.append(escaped: name)
      try parts.parameter.append(UInt8(ascii: "="))
      let start = parts.parameter.count
      try value.withBytes { try parts.parameter.append(escaped: $0) }
      try values.add(value)
      // Also search for the escaped value: a server that repeats the target may escape it again.
      try parts.parameter.withBytes { (bytes) throws in
        try values.add { (text) throws(SystemError) in
          try text.append(UnsafeRawBufferPointer(rebasing: bytes[start...]))
        }
      }
    case .oauth1(let client): try addKeys(of: client, to: &parts, values: &values)
    case .all(let schemes): for scheme in schemes { try add(scheme, to: &parts, values: &values) }
    }
  }

  /// Adds the four keys of `OAuth1Signature.Keys`.
  private func addKeys(of client: OAuth1Client, to parts: inout Parts, values: inout SecretList) throws {
    parts.layout.client = client
    let key = try value(client.consumerKey)
    try addKey(key, name: "the consumer key", to: &parts)
    if client.consumerKey.isSecret { try values.add(key) }
    switch client.proof {
    case .secret(let source): try addKey(source, to: &parts, values: &values)
    case .privateKey(let key):
      // Not among the values, because no request carries any part of the private key.
      let start = parts.keys.count
      try addDER(of: key, to: &parts.keys)
      parts.layout.keys.append(parts.keys.count - start)
    }
    if case .token(let token) = client.token { return try addPair(.token(token), to: &parts, values: &values) }
    for source in [client.token, client.tokenSecret] { try addKey(source, to: &parts, values: &values) }
  }

  /// Adds the token and the token secret of a login (see `Secret.oauth1Pair`).
  private func addPair(_ source: SecretSource, to parts: inout Parts, values: inout SecretList) throws {
    let pair = try reader.read(source)
    for isSecret in [false, true] {
      let part = try pair.oauth1Part(isSecret: isSecret, in: reader.arena)
      switch part {
      case .none: throw SecretProblem("\(source.name) is damaged: log in again")
      case .some(let part):
        try addKey(part, name: source.name, to: &parts)
        try values.add(part)
      }
    }
  }

  private func addKey(_ source: SecretSource?, to parts: inout Parts, values: inout SecretList) throws {
    guard let source else { return parts.layout.keys.append(0) }
    let key = try reader.read(source)
    try addKey(key, name: source.name, to: &parts)
    try values.add(key)
  }

  /// Appends the private key in DER, decrypted once for all requests.
  private func addDER(of source: SigningKeySource, to keys: inout Secret) throws {
    let pem = try reader.read(source.source)
    try pem.withBytes { (pem) throws in
      guard let passphrase = source.passphrase else { return try keys.append(rsaKey: pem, name: source.source.name) }
      let words = try reader.read(passphrase)
      try words.withBytes { (words) throws in
        try keys.append(rsaKey: pem, passphrase: words, name: source.source.name)
      }
    }
  }

  private func addKey(_ key: borrowing Secret, name: String, to parts: inout Parts) throws {
    try key.withBytes { (bytes) throws in
      try checkText(bytes, name: name)
      try parts.keys.append(bytes)
    }
    parts.layout.keys.append(key.count)
  }

  private func addLines(_ scheme: AuthScheme, to lines: inout Secret, values: inout SecretList) throws {
    switch scheme {
    case .query, .oauth1, .all: break
    case .bearer(let source):
      let token = try reader.read(source)
      try token.withBytes { try source.bearerForm.check($0, name: source.name) }
      try values.add(token)
      try appendLine("Authorization", prefix: "Bearer ", token, to: &lines)
    case .basic(let user, let password):
      try lines.append("Authorization: Basic ")
      let pair = try pair(user: user, password: password, values: &values)
      var encoded = try Secret(capacity: pair.count / 3 * 4 + 4, in: reader.arena)
      try pair.withBytes { try encoded.append(base64: $0) }
      try encoded.withBytes { try lines.append($0) }
      try values.add(encoded)
      try lines.append("\r\n")
    case .digest(let user, let password, _):
      // Not a line yet, but the input from which each line is computed.
      let pair = try pair(user: user, password: .secret(password), values: &values)
      try pair.withBytes { try lines.append($0) }
    case .registry(let login, _):
      // The login for the token server, if any.
      guard let login else { break }
      let pair = try pair(user: login.user, password: .secret(login.password), values: &values)
      try pair.withBytes { try lines.append(base64: $0) }
      try values.add(lines)
    case .headers(let templates):
      for template in templates {
        try checkFieldName(template.name)
        let value = try self.value(template.value)
        try value.withBytes { (bytes) throws in
          let name = template.value.name ?? "the value of \(template.name)"
          try checkFieldValue(bytes, name: name)
          // A prefix like `token=` may require quotation marks in the value.
          if template.value.isSecret, !template.prefix.hasSuffix("=") { try checkWrapping(bytes, name: name) }
        }
        try checkPrefix(template)
        try appendLine(template.name, prefix: template.prefix, value, to: &lines)
        if template.value.isSecret { try values.add(value) }
      }
    }
  }

  private func value(_ value: FieldValue) throws -> Secret {
    switch value {
    case .secret(let source): return try reader.read(source)
    case .plain(let text):
      var secret = try Secret(capacity: text.utf8.count, in: reader.arena)
      try secret.append(text)
      return secret
    }
  }

  /// Returns `user:password` (RFC 7617 section 2), or throws if one of them is unusable.
  private func pair(
    user userValue: FieldValue, password passwordValue: FieldValue, values: inout SecretList
  ) throws -> Secret {
    let user = try value(userValue)
    try user.withBytes { try checkUserName($0, name: userValue.name ?? "the user") }
    if userValue.isSecret { try values.add(user) }
    let password = try value(passwordValue)
    try password.withBytes { try checkText($0, name: passwordValue.name ?? "the password") }
    if passwordValue.isSecret { try values.add(password) }

    var pair = try Secret(capacity: user.count + 1 + password.count, in: reader.arena)
    try user.withBytes { try pair.append($0) }
    try pair.append(UInt8(ascii: ":"))
    try password.withBytes { try pair.append($0) }
    // The pair may be long enough to search for even if the password is not.
    if password.count < SecretEncodings.shortestValue { try values.add(pair) }
    return pair
  }

  private func appendLine(
    _ name: String, prefix: String, _ value: borrowing Secret, to lines: inout Secret
  ) throws(SystemError) {
    try lines.append(name)
    try lines.append(": ")
    try lines.append(prefix)
    try value.withBytes { (bytes) throws(SystemError) in try lines.append(bytes) }
    try lines.append("\r\n")
  }
}

extension FieldValue {
  fileprivate var name: String? { sources.first?.name }
}
