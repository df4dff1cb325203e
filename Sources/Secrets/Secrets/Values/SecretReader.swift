package import Settings
package import System

/// Why a source gives no secret, and what to do about it. Contains no byte of the secret.
package struct SecretProblem: Error {
  package let sentence: String
  /// `true` if the source has no value, `false` if its value is unusable (T44). A previous value stays in use only if
  /// `false`.
  package var isMissing = false
  /// Whether a later attempt may succeed.
  package var isTransient = false
  package var lacksLockedMemory = false

  package static let stillInUse = " (the previous value is still in use)"

  package init(_ sentence: String, isMissing: Bool = false, isTransient: Bool = false) {
    self.sentence = sentence
    self.isMissing = isMissing
    self.isTransient = isTransient
  }

  package init(_ error: SystemError, reading name: String) {
    self.init("\(name) cannot be read: \(error)")
    isTransient = error.isTransient
    lacksLockedMemory = error.isMemoryLockFailure
  }
}

/// Reads the current values of sources.
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

  /// Returns a copy of a source's value, which is never empty. One line break at its end is removed.
  package func read(_ source: SecretSource) throws(SecretProblem) -> Secret {
    var secret: Secret
    do {
      secret = try Secret(capacity: 256, in: arena)
    } catch {
      throw SecretProblem(error, reading: source.name)
    }
    switch source {
    case .env(let name):
      guard try EnvironmentSecrets.shared.append(name, to: &secret) else {
        throw SecretProblem("the environment variable \(name) is not set", isMissing: true)
      }
    case .command(let command): try commands.append(command, to: &secret)
    case .userOfCommand(let command): try commands.append(command, isUser: true, to: &secret)
    case .token(let token): try tokens.append(token, to: &secret)
    case .file, .systemd: try files.append(source, to: &secret)
    }
    return secret
  }
}

/// Returns the bytes without one line break at their end, or throws if they are unusable (T43).
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

/// Returns a copy of the bytes after the checks in `secretBytes(_:name:)`.
package func secretContent(
  _ bytes: UnsafeRawBufferPointer, name: String, in arena: SecretArena
) throws(SecretProblem) -> Secret {
  try secretCopy(try secretBytes(bytes, name: name), name: name, in: arena)
}

/// Returns a copy of all bytes, without any check.
package func secretCopy(
  _ bytes: UnsafeRawBufferPointer, name: String, in arena: SecretArena
) throws(SecretProblem) -> Secret {
  do {
    return try Secret.copy(of: bytes, in: arena)
  } catch {
    throw SecretProblem(error, reading: name)
  }
}
