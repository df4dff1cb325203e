/// One of the texts that are looked for: where it stands among all of them, and in which ways it can be written.
struct SecretPattern {
  enum Spelling {
    /// Letters and digits as they are, as every standard encoder leaves them, each other byte as it is or in any of the ways of
    /// `Escape`. Encoders differ in what they escape, and in nothing else.
    case escaped
    /// Byte by byte.
    case asItIs
    /// Byte by byte, but for the case of letters.
    case inAnyCase
  }
  let range: Range<Int>
  let spelling: Spelling
}
