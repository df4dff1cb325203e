internal import System

/// A credential's field lines, complete with CRLF, ready to be copied into a request's head; and what of them is secret, for
/// those who look for it in answers.
struct FieldLines {
  let reader: SecretReader

  struct Rendered: ~Copyable {
    let lines: Secret
    let patterns: SecretPatterns
  }

  func render(_ scheme: AuthScheme) throws(SecretProblem) -> Rendered {
    do {
      var values = try SecretList(in: reader.arena)
      let lines = try lines(scheme, values: &values)
      return Rendered(lines: lines, patterns: try SecretPatterns(of: values, in: reader.arena))
    } catch let problem as SecretProblem {
      throw problem
    } catch let error as SystemError {
      throw SecretProblem("there is no memory for secrets: \(error)")
    } catch {
      throw SecretProblem("the credential cannot be prepared")
    }
  }

  private func lines(_ scheme: AuthScheme, values: inout SecretList) throws -> Secret {
    var lines = try Secret(capacity: 256, in: reader.arena)
    switch scheme {
    case .bearer(let source):
      let token = try reader.read(source)
      try token.withBytes { try checkToken($0, name: source.name) }
      try values.add(token)
      try appendLine("Authorization", prefix: "Bearer ", token, to: &lines)
    case .basic(let user, let password):
      try lines.append("Authorization: Basic ")
      let pair = try pair(user: user, password: password, values: &values)
      var encoded = try Secret(capacity: pair.count / 3 * 4 + 4, in: reader.arena)
      try pair.withBytes { try appendBase64($0, to: &encoded) }
      try encoded.withBytes { try lines.append($0) }
      try values.add(encoded)
      try lines.append("\r\n")
    case .digest(let user, let password, _):
      // No line yet: what one is made of.
      let pair = try pair(user: user, password: password, values: &values)
      try pair.withBytes { try lines.append($0) }
    case .registry(let login, _):
      // The same: what the token server is shown, if anything.
      guard let login else { break }
      let pair = try pair(user: login.user, password: login.password, values: &values)
      try pair.withBytes { try appendBase64($0, to: &lines) }
      try values.add(lines)
    case .headers(let templates):
      for template in templates {
        try checkFieldName(template.name)
        let value = try self.value(template.value)
        try value.withBytes { try checkFieldValue($0, name: template.value.name(in: template)) }
        try checkPrefix(template)
        try appendLine(template.name, prefix: template.prefix, value, to: &lines)
        if template.value.isSecret { try values.add(value) }
      }
    }
    return lines
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

  /// RFC 7617 section 2: user-id and password, both UTF-8 without control characters, the user-id without a colon.
  private func pair(user: FieldValue, password source: SecretSource, values: inout SecretList) throws -> Secret {
    let isSecret = user.isSecret
    let userName: String =
      switch user {
      case .plain: "the user"
      case .secret(let source): source.name
      }
    let user = try value(user)
    try user.withBytes { try checkUserName($0, name: userName) }
    if isSecret { try values.add(user) }
    let password = try reader.read(source)
    try password.withBytes { try checkText($0, name: source.name) }
    try values.add(password)

    var pair = try Secret(capacity: user.count + 1 + password.count, in: reader.arena)
    try user.withBytes { try pair.append($0) }
    try pair.append(UInt8(ascii: ":"))
    try password.withBytes { try pair.append($0) }
    // The pair is long enough to be looked for where the password alone is not.
    if password.count < SecretForms.shortestValue { try values.add(pair) }
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

extension SecretSource {
  /// For sentences.
  package var name: String {
    switch self {
    case .file(let path): path
    case .systemd(let name): "the systemd credential \(name)"
    case .env(let name): "the environment variable \(name)"
    case .command(let command), .userOfCommand(let command): "what \(command.path) printed"
    case .token(let token): "the token of \(token.endpoint)"
    }
  }
}

extension FieldValue {
  fileprivate var isSecret: Bool {
    switch self {
    case .plain: false
    case .secret: true
    }
  }

  fileprivate func name(in template: HeaderTemplate) -> String {
    switch self {
    case .plain: "the value of \(template.name)"
    case .secret(let source): source.name
    }
  }
}
