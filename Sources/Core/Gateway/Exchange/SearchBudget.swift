/// Limits for the search of responses in one turn of the event loop (T60).
enum SearchBudget {
  /// Maximum number of steps in one turn, of about 40 ns each.
  static let maximumSteps = 16_384
  /// Maximum number of bytes to search at once.
  static let largestPiece = 16_384
  /// Maximum number of compressed bytes to decode at once.
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
