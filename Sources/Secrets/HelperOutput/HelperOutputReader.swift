internal import Policy
@_spi(SecretBytes) package import Secrets
package import Settings

/// Parses the output of a helper program. Error messages contain no byte of the output.
package struct HelperOutputReader {
  let command: SecretCommand
  let arena: SecretArena
  /// Current time in seconds since 1970.
  let now: Int64

  package init(command: SecretCommand, arena: SecretArena, now: Int64) {
    self.command = command
    self.arena = arena
    self.now = now
  }

  package func read(_ output: UnsafeRawBufferPointer) throws(SecretProblem) -> SourceValue {
    let value: SourceValue
    switch command.format {
    case .text: value = SourceValue(secret: try secretContent(output, name: name, in: arena))
    case .gitCredential(let description, _): value = try gitCredential(output, description)
    case .execCredential: value = try execCredential(output)
    case .dockerCredential: value = try dockerCredential(output)
    }
    if let expiry = value.expiry, expiry <= now {
      let ago = now.subtractingReportingOverflow(expiry).partialValue
      throw SecretProblem("\(name) expired \(ago == 1 ? "1 second" : "\(ago) seconds") ago")
    }
    return value
  }

  var name: String { SecretSource.command(command).name }

  func isOneOf(_ value: UnsafeRawBufferPointer, _ words: [String]) -> Bool {
    words.contains { value.elementsEqual($0.utf8) }
  }

  /// Returns a copy of the bytes, or throws if they are empty.
  /// - Parameter what: the name of the bytes in the error message.
  func secret(_ bytes: UnsafeRawBufferPointer, _ what: String) throws(SecretProblem) -> Secret {
    guard !bytes.isEmpty else { throw SecretProblem("\(name) has an empty \(what)") }
    return try copy(bytes)
  }

  func copy(_ bytes: UnsafeRawBufferPointer) throws(SecretProblem) -> Secret {
    try secretCopy(bytes, name: name, in: arena)
  }
}
