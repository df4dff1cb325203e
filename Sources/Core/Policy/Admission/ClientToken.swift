package import HTTP1
internal import Primitives

/// The token by which a client identifies itself: `bearerd_` and 32 random bytes in base64url without padding.
package enum ClientToken {
  package static let prefix = "bearerd_"
  /// Length of a token in bytes, all ASCII.
  package static let length = 51
  package static let randomBytes = 32
  /// Maximum length in bytes of a `Basic` value that is searched for a token.
  private static let longestBasic = 1024

  /// A well-formed token that belongs to no client. `bearerctl explain` sends it instead of a real token.
  package static var placeholder: String { prefix + String(repeating: "0", count: length - prefix.utf8.count) }

  /// Returns the token for these random bytes, which must be `randomBytes` long.
  package static func text(random: [UInt8]) -> String {
    let digits = Base64.encode(random).utf8.filter { $0 != UInt8(ascii: "=") }.map { byte in
      switch byte {
      case UInt8(ascii: "+"): UInt8(ascii: "-")
      case UInt8(ascii: "/"): UInt8(ascii: "_")
      default: byte
      }
    }
    return prefix + String(decoding: digits, as: UTF8.self)
  }

  package static func isWellFormed(_ bytes: Span<UInt8>) -> Bool {
    let prefix = prefix.utf8.span
    guard bytes.count == length else { return false }
    for index in 0..<length {
      let byte = bytes[index]
      if index < prefix.count {
        if byte != prefix[index] { return false }
      } else if !isBase64URLCharacter(byte) {
        return false
      }
    }
    return true
  }

  /// Returns the digest of the first token in any field of the head; `nil` if there is no token.
  static func digest(in head: RequestHead, by hash: TokenHash) -> TokenDigest? {
    for field in head.fields {
      switch foundAnywhere(in: field, of: head.bytes) {
      case .nowhere: continue
      case .plain(let range): return hash(head.bytes.span.extracting(range))
      case .decoded(let bytes): return hash(bytes.span)
      }
    }
    return nil
  }

  /// Whether the field carries a client token. Such a field must not reach the upstream.
  package static func isCarried(by field: Field, of bytes: [UInt8]) -> Bool {
    if case .nowhere = found(in: field, of: bytes) { false } else { true }
  }

  /// Whether a credential field other than `Cookie` has a value that is not a client token.
  static func hasOtherCredential(in head: RequestHead) -> Bool {
    head.fields.contains { field in
      field.known != .cookie && !field.value.isEmpty && !isCarried(by: field, of: head.bytes)
        && CredentialFields.isCredentialLike(name: head.bytes, range: field.name)
    }
  }

  /// Whether an entry of `Sec-WebSocket-Protocol` carries a token.
  package static func isEntry(_ entry: Range<Int>, of bytes: [UInt8]) -> Bool {
    if case .nowhere = found(inEntry: entry, of: bytes) { false } else { true }
  }

  private enum Found { case nowhere, plain(Range<Int>), decoded([UInt8]) }

  /// Searches a credential field for a token, with or without a scheme (RFC 7617 section 2).
  private static func found(in field: Field, of bytes: [UInt8]) -> Found {
    // Ignores cookies, because browsers send them with the requests of every page.
    guard field.known != .cookie, CredentialFields.isCredentialLike(name: bytes, range: field.name) else {
      return .nowhere
    }
    let value = field.value
    guard value.count >= length else { return .nowhere }
    let span = bytes.span
    let last = (value.upperBound - length)..<value.upperBound
    if isWellFormed(span.extracting(last)),
      last.lowerBound == value.lowerBound || ASCII.isBlank(span[last.lowerBound - 1])
    {
      return .plain(last)
    }
    guard field.known == .authorization, value.count <= longestBasic else { return .nowhere }
    return basic(bytes[value])
  }

  private static func foundAnywhere(in field: Field, of bytes: [UInt8]) -> Found {
    guard CredentialSubprotocol.isSubprotocolField(field, of: bytes) else { return found(in: field, of: bytes) }
    var entries = SubprotocolEntries(field, among: [], of: bytes)
    while let entry = entries.next(in: bytes) {
      let found = found(inEntry: entry.range, of: bytes)
      if case .nowhere = found { continue }
      return found
    }
    return .nowhere
  }

  /// Searches an entry of `Sec-WebSocket-Protocol` for a token.
  private static func found(inEntry entry: Range<Int>, of bytes: [UInt8]) -> Found {
    guard entry.count >= length else { return .nowhere }
    let last = (entry.upperBound - length)..<entry.upperBound
    if isWellFormed(bytes.span.extracting(last)),
      last.lowerBound == entry.lowerBound || bytes[last.lowerBound - 1] == UInt8(ascii: ".")
    {
      return .plain(last)
    }
    guard let decoded = CredentialSubprotocol.decoded(bytes[entry]), isWellFormed(decoded.span) else { return .nowhere }
    return .decoded(decoded)
  }

  private static func basic(_ value: ArraySlice<UInt8>) -> Found {
    guard value.prefix(6).map(ASCII.lowercased).elementsEqual("basic ".utf8) else { return .nowhere }
    let encoded = value.dropFirst(6).drop(while: ASCII.isBlank)
    guard let pair = Base64.decode(Array(encoded)), let colon = pair.firstIndex(of: UInt8(ascii: ":")) else {
      return .nowhere
    }
    for part in [Array(pair[(colon + 1)...]), Array(pair[..<colon])] where isWellFormed(part.span) {
      return .decoded(part)
    }
    return .nowhere
  }
}
