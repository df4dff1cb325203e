/// A text to search for: its range in the bytes of all patterns, and its possible spellings.
struct SecretPattern {
  enum Spelling {
    /// Every byte except letters and digits may be encoded in any way that `Escape` decodes.
    case escaped
    case asItIs
    case inAnyCase
  }
  let range: Range<Int>
  let spelling: Spelling
}
