/// Guesses the word that the user meant.
package enum Suggestion {
  /// Maximum length of words to compare, in bytes.
  private static let longestWord = 40

  /// Returns the candidate that is most similar to `word`, or `nil` if none is similar.
  package static func nearest(to word: String, in candidates: some Sequence<String>) -> String? {
    guard word.utf8.count <= longestWord else { return nil }
    let wanted = normalized(word)
    var best: (word: String, distance: Int)?
    for candidate in candidates {
      let against = normalized(candidate)
      // One typing error in a short word, three in a long word.
      let maxDistance = min(3, (max(wanted.count, against.count) + 1) / 3)
      guard abs(wanted.count - against.count) <= maxDistance else { continue }
      let distance = distance(wanted, against)
      if distance <= maxDistance, distance < best?.distance ?? Int.max { best = (candidate, distance) }
    }
    return best?.word
  }

  /// Returns the word in lowercase without `_` and `-`.
  private static func normalized(_ word: String) -> [UInt8] {
    word.utf8.filter { $0 != UInt8(ascii: "_") && $0 != UInt8(ascii: "-") }.map {
      $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0
    }
  }

  /// Returns how many insertions, deletions, replacements and swaps of neighbors turn one word into the other.
  static func distance(_ one: [UInt8], _ other: [UInt8]) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...other.count)
    for (row, byte) in one.enumerated() {
      var current = [row + 1]
      for (column, against) in other.enumerated() {
        var cost = min(last[column + 1] + 1, current[column] + 1, last[column] + (byte == against ? 0 : 1))
        if row > 0, column > 0, byte == other[column - 1], one[row - 1] == against {
          cost = min(cost, beforeLast[column - 1] + 1)
        }
        current.append(cost)
      }
      beforeLast = last
      last = current
    }
    return last[other.count]
  }
}
