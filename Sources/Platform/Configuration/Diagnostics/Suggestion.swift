/// Guesses what a person meant.
package enum Suggestion {
  /// Longer words are not compared: they are hardly misspelt, and the cost is quadratic.
  private static let longestWord = 40

  /// The candidate nearest to `word`, if it is near enough to be a slip.
  package static func nearest(to word: String, in candidates: some Sequence<String>) -> String? {
    guard word.utf8.count <= longestWord else { return nil }
    let wanted = normalised(word)
    var best: (word: String, distance: Int)?
    for candidate in candidates {
      let against = normalised(candidate)
      // One slip in a short word, three in a long one.
      let most = min(3, (max(wanted.count, against.count) + 1) / 3)
      guard abs(wanted.count - against.count) <= most else { continue }
      let distance = distance(wanted, against)
      guard distance <= most else { continue }
      if distance < best?.distance ?? Int.max { best = (candidate, distance) }
    }
    return best?.word
  }

  /// `allowUsers`, `allow-users` and `Allow_Users` are the same word to a person.
  private static func normalised(_ word: String) -> [UInt8] {
    word.utf8.filter { $0 != UInt8(ascii: "_") && $0 != UInt8(ascii: "-") }.map {
      $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0
    }
  }

  /// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
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
