internal import Glibc
package import System

/// Why a source gives no secret: a sentence with what to do, never a byte of the secret.
package struct SecretProblem: Error {
  package let sentence: String
  /// Nothing is there (any more), so that an earlier value ends too. Otherwise what is there is unusable, and an earlier
  /// value stays (T44).
  package var isMissing = false
  /// Another time it may well be read.
  package var isPassing = false
  /// There is no locked memory for it, where it has to lie in some.
  package var isUnlocked = false

  package static let stillInUse = " (the previous value is still in use)"

  package init(_ sentence: String, isMissing: Bool = false, isPassing: Bool = false) {
    self.sentence = sentence
    self.isMissing = isMissing
    self.isPassing = isPassing
  }

  package init(_ error: SystemError, reading name: String) {
    self.init("\(name) cannot be read: \(error)")
    isPassing = error.isPassing
    isUnlocked = error.isOfLocking
  }
}

/// Reads sources into secrets. Not one byte passes through an Array or a String.
package struct SecretReader {
  package let arena: SecretArena
  package let commands: CommandValues
  package let files: FileValues
  package let tokens: TokenValues

  package init(arena: SecretArena, commands: CommandValues, files: FileValues, tokens: TokenValues) {
    self.arena = arena
    self.commands = commands
    self.files = files
    self.tokens = tokens
  }

  /// Without one closing line break. Never empty.
  package func read(_ source: SecretSource) throws(SecretProblem) -> Secret {
    switch source {
    case .env(let name):
      return try copy(source) { (secret) throws(SecretProblem) in
        guard try EnvironmentSecrets.ofProcess.append(name, to: &secret) else {
          throw SecretProblem("the environment variable \(name) is not set", isMissing: true)
        }
      }
    case .command(let command):
      return try copy(source) { (secret) throws(SecretProblem) in try commands.append(command, to: &secret) }
    case .userOfCommand(let command):
      return try copy(source) { (secret) throws(SecretProblem) in
        try commands.append(command, isUser: true, to: &secret)
      }
    case .token(let token):
      return try copy(source) { (secret) throws(SecretProblem) in try tokens.append(token, to: &secret) }
    case .file, .systemd:
      return try copy(source) { (secret) throws(SecretProblem) in try files.append(source, to: &secret) }
    }
  }

  /// A copy of what is kept for all keyrings.
  private func copy(
    _ source: SecretSource, _ append: (inout Secret) throws(SecretProblem) -> Void
  ) throws(SecretProblem) -> Secret {
    var secret: Secret
    do {
      secret = try Secret(capacity: 256, in: arena)
    } catch {
      throw SecretProblem(error, reading: source.name)
    }
    try append(&secret)
    return secret
  }
}

/// The bytes of a secret from any source: one closing `\n` or `\r\n` goes, a byte order mark and emptiness are refused (T43).
func secretBytes(_ bytes: UnsafeRawBufferPointer, name: String) throws(SecretProblem) -> UnsafeRawBufferPointer {
  var bytes = bytes
  if bytes.last == UInt8(ascii: "\n") {
    bytes = UnsafeRawBufferPointer(rebasing: bytes.dropLast())
    if bytes.last == UInt8(ascii: "\r") { bytes = UnsafeRawBufferPointer(rebasing: bytes.dropLast()) }
  }
  guard !bytes.isEmpty else { throw SecretProblem("\(name) is empty: there is no secret in it") }
  let marks: [[UInt8]] = [[0xEF, 0xBB, 0xBF], [0xFE, 0xFF], [0xFF, 0xFE]]
  guard !marks.contains(where: { bytes.starts(with: $0) }) else {
    throw SecretProblem("\(name) begins with a byte order mark: save it as plain text")
  }
  return bytes
}

/// The bytes of a secret from any source, copied.
func secretContent(
  _ bytes: UnsafeRawBufferPointer, name: String, in arena: SecretArena
) throws(SecretProblem) -> Secret {
  try secretCopy(try secretBytes(bytes, name: name), name: name, in: arena)
}

/// All of them, whatever they are.
func secretCopy(
  _ bytes: UnsafeRawBufferPointer, name: String, in arena: SecretArena
) throws(SecretProblem) -> Secret {
  do {
    var secret = try Secret(capacity: bytes.count, in: arena)
    try secret.append(bytes)
    return secret
  } catch {
    throw SecretProblem(error, reading: name)
  }
}
