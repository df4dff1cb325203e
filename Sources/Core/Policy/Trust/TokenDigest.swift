internal import Primitives

/// SHA-256 of a client token.
package struct TokenDigest: Sendable, CustomStringConvertible {
  private let words: (UInt64, UInt64, UInt64, UInt64)

  /// `nil` unless there are 32 bytes.
  package init?(_ bytes: Span<UInt8>) {
    guard bytes.count == 32 else { return nil }
    func word(_ index: Int) -> UInt64 {
      var word: UInt64 = 0
      for byte in 0..<8 { word = word << 8 | UInt64(bytes[index * 8 + byte]) }
      return word
    }
    words = (word(0), word(1), word(2), word(3))
  }

  /// Parses `sha256/` and 44 characters of base64; `nil` for other text and for a digest of zeros.
  package init?(parsing text: String) {
    let prefix = "sha256/"
    guard text.hasPrefix(prefix), let bytes = Base64.decode(Array(text.utf8.dropFirst(prefix.utf8.count))),
      bytes.contains(where: { $0 != 0 })
    else { return nil }
    self.init(bytes.span)
  }

  package var description: String {
    let bytes = [words.0, words.1, words.2, words.3].flatMap { word in
      (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * $0)) }
    }
    return "sha256/" + Base64.encode(bytes)
  }
}

extension TokenDigest: Equatable {
  /// Compares in constant time (T53).
  package static func == (one: Self, other: Self) -> Bool {
    (one.words.0 ^ other.words.0) | (one.words.1 ^ other.words.1)
      | (one.words.2 ^ other.words.2) | (one.words.3 ^ other.words.3) == 0
  }
}

/// A function that computes the SHA-256 of a client token; `nil` on failure.
package typealias TokenHash = @Sendable (Span<UInt8>) -> TokenDigest?

package struct Client: Sendable, Equatable {
  package let name: String
  /// The digests of the client's tokens: more than one while a token is being replaced.
  package let digests: [TokenDigest]

  package init(name: String, digests: [TokenDigest]) {
    self.name = name
    self.digests = digests
  }
}

extension [Client] {
  /// Returns the name of the client that has this token; `nil` if there is none (T53).
  func name(of digest: TokenDigest) -> String? {
    // Always compares all digests.
    var found: String?
    for client in self {
      for known in client.digests where known == digest { found = client.name }
    }
    return found
  }
}
