internal import Primitives

/// One challenge from a `WWW-Authenticate` or `Proxy-Authenticate` field (RFC 9110 §11.3). Ranges point into the head.
package struct Challenge: Sendable {
  package struct Parameter: Sendable {
    package let name: Range<Int>
    /// The parameter's value without quotation marks, but with its backslashes.
    let value: Range<Int>
    let isQuoted: Bool
    /// A hash of the parameter's lowercase name.
    fileprivate let hash: UInt64
  }

  package let scheme: Range<Int>
  /// The value that some schemes send instead of parameters, as in `Negotiate YII=`; `nil` if there is none.
  package var token68: Range<Int>?
  package var parameters: [Parameter] = []

  /// Maximum number of parameters in one `WWW-Authenticate` field.
  static let maximumParameters = 64
  /// Maximum number of challenges in all `WWW-Authenticate` fields of a head.
  package static let maximumChallenges = 32

  /// Returns the value of the parameter with this lowercase name, without backslashes; `nil` if there is none.
  package func value(of name: String, in bytes: Span<UInt8>) -> [UInt8]? {
    guard let parameter = parameters.first(where: { FieldName.matches($0.name, of: bytes, name) }) else { return nil }
    var value: [UInt8] = []
    var index = parameter.value.lowerBound
    while index < parameter.value.upperBound {
      if parameter.isQuoted, bytes[index] == Byte.backslash { index &+= 1 }
      value.append(bytes[index])
      index &+= 1
    }
    return value
  }

  /// Returns the challenges of all `WWW-Authenticate` fields. Returns `nil` if one is malformed or there are too many.
  package static func all(in head: ResponseHead) -> [Challenge]? {
    var all: [Challenge] = []
    for field in head.fields {
      guard case .wwwAuthenticate = field.known else { continue }
      guard let challenges = read(field.value, of: head.bytes.span) else { return nil }
      all += challenges
      if all.count > maximumChallenges { return nil }
    }
    return all
  }

  /// Parses the challenges in a field value. Returns `nil` if it is malformed or has too many challenges.
  package static func read(_ value: Range<Int>, of bytes: Span<UInt8>) -> [Challenge]? {
    var copy: [UInt8] = []
    copy.append(bytes.extracting(value))
    var reader = ChallengeReader(bytes: copy, offset: value.lowerBound)
    return reader.read()
  }
}

private struct ChallengeReader {
  let bytes: [UInt8]
  let offset: Int
  var position = 0
  var challenges: [Challenge] = []
  var parameters = 0

  mutating func read() -> [Challenge]? {
    while true {
      // A list may have empty elements (RFC 9110 §5.6.1).
      while position < bytes.count, Grammar.isBlank(bytes[position]) || bytes[position] == Byte.comma { position &+= 1 }
      guard position < bytes.count else { return challenges }
      guard readElement() else { return nil }
      skipBlanks()
      guard position == bytes.count || bytes[position] == Byte.comma else { return nil }
    }
  }

  /// Parses a new challenge or the next parameter of the last challenge. Returns `false` for malformed text.
  private mutating func readElement() -> Bool {
    guard let name = token() else { return false }
    let nameEnd = position
    skipBlanks()
    if let last = challenges.last, last.token68 == nil, skips(Byte.equals) { return readValue(of: name) }
    guard challenges.count < Challenge.maximumChallenges else { return false }
    challenges.append(Challenge(scheme: inHead(name)))
    guard position > nameEnd, position < bytes.count, bytes[position] != Byte.comma else { return true }
    if let token68 = token68() {
      challenges[challenges.count - 1].token68 = inHead(token68)
      return true
    }
    guard let first = token() else { return false }
    skipBlanks()
    return skips(Byte.equals) && readValue(of: first)
  }

  private mutating func readValue(of name: Range<Int>) -> Bool {
    skipBlanks()
    let isQuoted = skips(Byte.quote)
    guard let value = isQuoted ? quotedText() : token() else { return false }
    parameters += 1
    guard parameters <= Challenge.maximumParameters else { return false }
    let last = challenges.count - 1
    let hash = name.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { hash, index in
      (hash ^ UInt64(Grammar.foldedToken[Int(bytes[index])])) &* 0x100_0000_01b3
    }
    let isDuplicate = challenges[last].parameters.contains { $0.hash == hash && namesMatch($0.name, inHead(name)) }
    challenges[last].parameters.append(
      Challenge.Parameter(name: inHead(name), value: inHead(value), isQuoted: isQuoted, hash: hash))
    return !isDuplicate
  }

  /// Parses a quoted string after its opening quotation mark; `nil` if the closing mark is missing.
  private mutating func quotedText() -> Range<Int>? {
    let start = position
    while position < bytes.count {
      if skips(Byte.quote) { return start..<(position &- 1) }
      if bytes[position] == Byte.backslash { position &+= 1 }
      position &+= 1
    }
    return nil
  }

  private mutating func token() -> Range<Int>? {
    let start = position
    while position < bytes.count, Grammar.isToken(bytes[position]) { position &+= 1 }
    return start == position ? nil : start..<position
  }

  /// Parses a value without a name that extends to the next comma; `nil` for other text.
  private mutating func token68() -> Range<Int>? {
    let start = position
    while position < bytes.count, Grammar.isToken68(bytes[position]) { position &+= 1 }
    if position > start { while skips(Byte.equals) {} }
    let end = position
    skipBlanks()
    if end > start, position == bytes.count || bytes[position] == Byte.comma { return start..<end }
    position = start
    return nil
  }

  private mutating func skips(_ byte: UInt8) -> Bool {
    guard position < bytes.count, bytes[position] == byte else { return false }
    position &+= 1
    return true
  }

  private mutating func skipBlanks() {
    while position < bytes.count, Grammar.isBlank(bytes[position]) { position &+= 1 }
  }

  private func inHead(_ range: Range<Int>) -> Range<Int> { (range.lowerBound + offset)..<(range.upperBound + offset) }

  private func namesMatch(_ first: Range<Int>, _ second: Range<Int>) -> Bool {
    guard first.count == second.count else { return false }
    for index in 0..<first.count
    where Grammar.foldedToken[Int(bytes[first.lowerBound - offset + index])]
      != Grammar.foldedToken[Int(bytes[second.lowerBound - offset + index])]
    {
      return false
    }
    return true
  }
}
