internal import Policy
import Primitives
@_spi(SecretBytes) internal import Secrets
internal import Settings

// The output of git credential helpers (git-credential(1), "INPUT/OUTPUT FORMAT"): lines of key=value up to an empty
// line or the end.

extension HelperOutputReader {
  /// Reads the output of a git credential helper, and rejects ambiguous lines and credentials for another host or user.
  func gitCredential(
    _ output: UnsafeRawBufferPointer, _ description: GitDescription
  ) throws(SecretProblem) -> SourceValue {
    // Stricter than git: CVE-2020-5260, CVE-2020-11008, CVE-2024-50338, CVE-2024-52006. Ignores unknown keys, as git
    // does.
    var found = GitCredentialFields(name: name)
    try found.read(output)
    guard found.hasLines else {
      throw SecretProblem("\(command.path) has no credential for https://\(description.host)")
    }
    if let quit = found.value("quit", in: output), isOneOf(quit, ["1", "true"]) {
      throw SecretProblem("\(command.path) told git to stop (quit)")
    }
    try checkTarget(found, output, description)
    let expiry = try found.value("password_expiry_utc", in: output).map { (text) throws(SecretProblem) in
      try seconds(text)
    }
    if let token = found.value("credential", in: output) {
      return SourceValue(secret: try self.token(token, of: found, output, description), expiry: expiry, isToken: true)
    }
    guard let password = found.value("password", in: output) else {
      throw SecretProblem("\(name) has no password")
    }
    let secret = try self.secret(password, "password")
    guard let user = found.value("username", in: output) else {
      return SourceValue(secret: secret, expiry: expiry)
    }
    return SourceValue(user: try copy(user), secret: secret, expiry: expiry)
  }

  /// Throws if the output contains a URL, or another protocol, host, path or user than bearerd requested.
  private func checkTarget(
    _ found: GitCredentialFields, _ output: UnsafeRawBufferPointer, _ description: GitDescription
  ) throws(SecretProblem) {
    let wanted = [
      ("protocol", "https"), ("host", description.host), ("path", description.path), ("username", description.user),
    ]
    for (key, wanted) in wanted {
      guard let wanted, let value = found.value(key, in: output), !value.elementsEqual(wanted.utf8) else { continue }
      throw SecretProblem("\(name) has another \(key) than bearerd asked for")
    }
    if found.value("url", in: output) != nil {
      throw SecretProblem("\(name) has a url, which bearerd did not ask for")
    }
  }

  /// Returns a copy of the token, or throws if it cannot be used.
  private func token(
    _ token: UnsafeRawBufferPointer, of found: GitCredentialFields, _ output: UnsafeRawBufferPointer,
    _ description: GitDescription
  ) throws(SecretProblem) -> Secret {
    // The case of `authtype` does not matter (RFC 9110 section 11.1).
    guard description.acceptsToken else {
      throw SecretProblem("\(name) has a token (authtype), but a user and a password are needed")
    }
    guard let scheme = found.value("authtype", in: output),
      scheme.elementsEqual("bearer".utf8, by: { ASCII.lowercased($0) == $1 })
    else { throw SecretProblem("\(name) has a credential with an authtype other than Bearer") }
    if let continues = found.value("continue", in: output), isOneOf(continues, ["1", "true"]) {
      throw SecretProblem("\(name) needs several rounds of authentication (continue), which are not supported")
    }
    return try secret(token, "credential")
  }

  private func seconds(_ text: UnsafeRawBufferPointer) throws(SecretProblem) -> Int64 {
    guard (1...18).contains(text.count), text.allSatisfy({ ASCII.isDigit($0) }) else {
      throw SecretProblem("\(name) has a password_expiry_utc that is not a number of seconds")
    }
    return text.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
  }
}

/// The known keys in a git helper's output, with the position of each key's value.
struct GitCredentialFields {
  private let name: String
  private var values: [String: Range<Int>] = [:]
  private(set) var hasLines = false

  private static let keys = [
    "protocol", "host", "path", "username", "password", "password_expiry_utc", "authtype", "credential", "quit", "url",
    "continue",
  ]

  init(name: String) { self.name = name }

  func value(_ key: String, in output: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    values[key].map { UnsafeRawBufferPointer(rebasing: output[$0]) }
  }

  mutating func read(_ output: UnsafeRawBufferPointer) throws(SecretProblem) {
    var start = 0
    while start < output.count {
      let end = output[start...].firstIndex(of: UInt8(ascii: "\n")) ?? output.count
      if start == end { return }
      try readLine(output, start..<end)
      start = end + 1
    }
  }

  private mutating func readLine(_ output: UnsafeRawBufferPointer, _ line: Range<Int>) throws(SecretProblem) {
    hasLines = true
    guard !output[line].contains(0) else { throw SecretProblem("\(name) has a NUL in a line") }
    guard !output[line].contains(UInt8(ascii: "\r")) else {
      throw SecretProblem("\(name) has a carriage return in a line: git's lines end with only a line feed")
    }
    guard let equals = output[line].firstIndex(of: UInt8(ascii: "=")) else {
      throw SecretProblem("\(name) has a line that is not key=value")
    }
    let key = output[line.lowerBound..<equals]
    guard !key.isEmpty else { throw SecretProblem("\(name) has a line without a key") }
    guard let known = Self.keys.first(where: { key.elementsEqual($0.utf8) }) else { return }
    guard values.updateValue(equals + 1..<line.upperBound, forKey: known) == nil else {
      throw SecretProblem("\(name) has \(known) twice")
    }
  }
}
