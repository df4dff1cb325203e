import Foundation

/// Searches a stream of bytes for texts, without keeping the stream.
package final class SecretGuard: @unchecked Sendable {
  package private(set) var found: Set<String> = []
  private let forbidden: [String]
  /// The last bytes, in which a text may begin.
  private var tail: [UInt8] = []
  private let longest: Int

  package init(_ forbidden: [String]) {
    self.forbidden = forbidden
    longest = forbidden.map(\.utf8.count).max() ?? 1
  }

  package func search(_ bytes: [UInt8]) {
    let all = Data(tail + bytes)
    for text in forbidden where all.range(of: Data(text.utf8)) != nil { found.insert(text) }
    tail = Array(all.suffix(longest - 1))
  }

  /// Returns the texts that appear in any of `places`.
  package static func find(_ forbidden: [String], in buffers: [[UInt8]]) -> Set<String> {
    let guardian = SecretGuard(forbidden)
    for buffer in buffers {
      guardian.tail = []
      guardian.search(buffer)
    }
    return guardian.found
  }
}
