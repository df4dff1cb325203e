/// Limits for the search of responses in one turn of the event loop (T60). A text that often resembles the secret costs
/// a hundred times as much as another text. The limits therefore count steps of the search, not only bytes.
enum SearchBudget {
  /// Maximum number of steps in one turn, of about 40 ns each. Then other connections are served.
  static let maximumSteps = 16_384
  /// Maximum number of bytes to search at once. Afterwards, the number of steps is compared with `maximumSteps`.
  static let largestPiece = 16_384
  /// Maximum number of compressed bytes to decode at once. Decoding can produce a thousand times as many (RFC 1951).
  static let largestCodedPiece = 32
}

extension BodyTreatment {
  var largestPiece: Int {
    switch self {
    case .asItIs, .replaced: .max
    case .searched: SearchBudget.largestPiece
    case .decoded: SearchBudget.largestCodedPiece
    }
  }
}
