/// A text to search for: its range in the bytes of all patterns, and its possible spellings.
struct SecretPattern {
  enum Spelling {
    /// Letters and digits match exactly, because no standard encoder changes them. Every other byte matches as it is or
    /// in any encoding that `Escape` decodes.
    case escaped
    case asItIs
    case inAnyCase
  }
  let range: Range<Int>
  let spelling: Spelling
}
