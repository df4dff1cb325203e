internal import Policy

/// How a program's answer is read. Each problem is a sentence without a byte of it.
package struct HelperAnswerReader {
  let command: SecretCommand
  let arena: SecretArena
  let now: Int64

  /// - Parameter now: seconds since 1970.
  package init(command: SecretCommand, arena: SecretArena, now: Int64) {
    self.command = command
    self.arena = arena
    self.now = now
  }

  package func read(_ output: UnsafeRawBufferPointer) throws(SecretProblem) -> SourceValue {
    let answer: SourceValue
    switch command.format {
    case .text: answer = SourceValue(secret: try secretContent(output, name: name, in: arena))
    case .gitCredential(let description, _): answer = try gitCredential(output, description)
    case .execCredential: answer = try execCredential(output)
    case .dockerCredential: answer = try dockerCredential(output)
    }
    if let expiry = answer.expiry, expiry <= now {
      let ago = now.subtractingReportingOverflow(expiry).partialValue
      throw SecretProblem("\(name) expired \(ago == 1 ? "1 second" : "\(ago) seconds") ago")
    }
    return answer
  }

  var name: String { SecretSource.command(command).name }

  func isOneOf(_ value: UnsafeRawBufferPointer, _ words: [String]) -> Bool {
    words.contains { value.elementsEqual($0.utf8) }
  }

  /// A secret of the answer, copied. Never empty.
  func secret(_ bytes: UnsafeRawBufferPointer, _ what: String) throws(SecretProblem) -> Secret {
    guard !bytes.isEmpty else { throw SecretProblem("\(name) has an empty \(what)") }
    return try copy(bytes)
  }

  func copy(_ bytes: UnsafeRawBufferPointer) throws(SecretProblem) -> Secret {
    try secretCopy(bytes, name: name, in: arena)
  }
}
