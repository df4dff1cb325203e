internal import Primitives

/// A server's word on what one has to prove, and how: a challenge of `WWW-Authenticate` or `Proxy-Authenticate` (RFC 9110 §11.3).
/// Ranges of the head's bytes.
package struct Challenge: Sendable {
  package struct Parameter: Sendable {
    package let name: Range<Int>
    /// Without the quotation marks, but with the backslashes.
    let value: Range<Int>
    let isQuoted: Bool
    /// The hash of the name in lower case: long names that are alike but for their ends are told apart at once.
    fileprivate let hash: UInt64
  }

  package let scheme: Range<Int>
  /// The text in the place of parameters: `Negotiate YII=`.
  package var token68: Range<Int>?
  package var parameters: [Parameter] = []

  /// More parameters in one field are no challenge that anybody could mean.
  static let maximumParameters = 64
  /// In one head. Servers offer two or three schemes, each with a few realms or hashes.
  package static let maximumChallenges = 32

  /// The value of a parameter, without its backslashes; nil: there is none of this name.
  /// - Parameter name: in lower case.
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

  /// The challenges of all `WWW-Authenticate` lines, in their order; nil: one of them is malformed, or there are too many.
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

  /// The challenges of one field line, in their order; nil: it is malformed or has too many, and nothing of it can be relied on.
  package static func read(_ value: Range<Int>, of bytes: Span<UInt8>) -> [Challenge]? {
    var copy: [UInt8] = []
    copy.append(bytes.extracting(value))
    var reader = ChallengeReader(bytes: copy, offset: value.lowerBound)
    return reader.read()
  }
}

/// Looks at every byte once.
private struct ChallengeReader {
  private let bytes: [UInt8]
  /// The offset of the first byte, in the head.
  private let offset: Int
  private var position = 0
  private var challenges: [Challenge] = []
  private var parameters = 0

  init(bytes: [UInt8], offset: Int) {
    self.bytes = bytes
    self.offset = offset
  }

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

  /// A parameter of the last challenge, or a new challenge with what follows its scheme up to the next comma.
  private mutating func readElement() -> Bool {
    guard let name = token() else { return false }
    let behind = position
    skipBlanks()
    if let last = challenges.last, last.token68 == nil, takes(Byte.equals) { return readValue(of: name) }
    guard challenges.count < Challenge.maximumChallenges else { return false }
    challenges.append(Challenge(scheme: moved(name)))
    guard position > behind, position < bytes.count, bytes[position] != Byte.comma else { return true }
    if let token68 = token68() {
      challenges[challenges.count - 1].token68 = moved(token68)
      return true
    }
    guard let first = token() else { return false }
    skipBlanks()
    return takes(Byte.equals) && readValue(of: first)
  }

  private mutating func readValue(of name: Range<Int>) -> Bool {
    skipBlanks()
    let value: Range<Int>
    let isQuoted = takes(Byte.quote)
    if isQuoted {
      guard let text = quotedText() else { return false }
      value = text
    } else {
      guard let text = token() else { return false }
      value = text
    }
    parameters += 1
    guard parameters <= Challenge.maximumParameters else { return false }
    let last = challenges.count - 1
    let hash = name.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { hash, index in
      (hash ^ UInt64(Grammar.foldedToken[Int(bytes[index])])) &* 0x100_0000_01b3
    }
    let isThere = challenges[last].parameters.contains { $0.hash == hash && isSame($0.name, moved(name)) }
    challenges[last].parameters.append(
      Challenge.Parameter(name: moved(name), value: moved(value), isQuoted: isQuoted, hash: hash))
    return !isThere
  }

  /// Behind the opening quotation mark; takes the closing one as well.
  private mutating func quotedText() -> Range<Int>? {
    let start = position
    while position < bytes.count {
      if takes(Byte.quote) { return start..<(position &- 1) }
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

  /// Only if it goes on to the next comma: otherwise it is the name of a parameter.
  private mutating func token68() -> Range<Int>? {
    let start = position
    while position < bytes.count, Grammar.isToken68(bytes[position]) { position &+= 1 }
    if position > start { while takes(Byte.equals) {} }
    let end = position
    skipBlanks()
    if end > start, position == bytes.count || bytes[position] == Byte.comma { return start..<end }
    position = start
    return nil
  }

  private mutating func takes(_ byte: UInt8) -> Bool {
    guard position < bytes.count, bytes[position] == byte else { return false }
    position &+= 1
    return true
  }

  private mutating func skipBlanks() {
    while position < bytes.count, Grammar.isBlank(bytes[position]) { position &+= 1 }
  }

  private func moved(_ range: Range<Int>) -> Range<Int> { (range.lowerBound + offset)..<(range.upperBound + offset) }

  private func isSame(_ one: Range<Int>, _ other: Range<Int>) -> Bool {
    guard one.count == other.count else { return false }
    for index in 0..<one.count
    where Grammar.foldedToken[Int(bytes[one.lowerBound - offset + index])]
      != Grammar.foldedToken[Int(bytes[other.lowerBound - offset + index])]
    {
      return false
    }
    return true
  }
}
