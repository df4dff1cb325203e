/// How much of an answer is searched in one turn of the loop (T60). What was searched is not known before: a text without
/// anything like the secret costs a hundredth of one that is full of its beginnings, so that is counted, and pieces are small.
enum SearchBudget {
  /// Steps of a search, of 40 ns each, after which other connections come first.
  static let mostSteps = 16_384
  /// Bytes of a body that are searched before steps are counted again.
  static let largestPiece = 16_384
  /// Bytes of one piece that are decoded first, which makes a thousand times as many of them (RFC 1951).
  static let largestCodedPiece = 32
}

extension BodyTreatment {
  var largestPiece: Int {
    switch self {
    case .asItIs, .withheld: .max
    case .searched: SearchBudget.largestPiece
    case .decoded: SearchBudget.largestCodedPiece
    }
  }
}
