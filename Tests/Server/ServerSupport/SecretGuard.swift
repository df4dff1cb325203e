import Foundation

/// Looks for texts in a stream of bytes that may be too large to keep.
package final class SecretGuard: @unchecked Sendable {
  package private(set) var found: Set<String> = []
  private let forbidden: [String]
  /// The end of what came, in which one of them may have begun.
  private var tail: [UInt8] = []
  private let longest: Int

  package init(_ forbidden: [String]) {
    self.forbidden = forbidden
    longest = forbidden.map(\.utf8.count).max() ?? 1
  }

  package func take(_ bytes: [UInt8]) {
    let all = Data(tail + bytes)
    for text in forbidden where all.range(of: Data(text.utf8)) != nil { found.insert(text) }
    tail = Array(all.suffix(longest - 1))
  }

  /// What of them stands in any of these.
  package static func find(_ forbidden: [String], in places: [[UInt8]]) -> Set<String> {
    let guardian = SecretGuard(forbidden)
    for place in places {
      guardian.tail = []
      guardian.take(place)
    }
    return guardian.found
  }
}
