/// The names of the fields and parameters that were removed from a request.
package struct RemovedNames: Sendable, Equatable {
  /// One bit for each row of `CredentialFieldTable.rows`.
  private var words = SIMD4<UInt64>()
  /// One bit for each name of `HeaderPolicy.removedNames`.
  private var configured: UInt64 = 0
  /// Whether any name at index 64 or later of `HeaderPolicy.removedNames` was removed.
  private var hasMore = false

  package init() {}

  package var isEmpty: Bool { words == SIMD4() && configured == 0 && !hasMore }

  package mutating func insert(_ field: CredentialField) {
    words[Int(field.index >> 6)] |= 1 << UInt64(field.index & 63)
  }

  /// Adds the name at this index of `HeaderPolicy.removedNames`.
  package mutating func insert(configured index: Int) {
    if (0..<64).contains(index) { configured |= 1 << UInt64(index) } else { hasMore = true }
  }

  private static let most = 16

  /// Returns the names, separated by commas, and the number of names that were left out: `cookie,sudo,+2`.
  package func description(under policy: HeaderPolicy?) -> String {
    let rows = CredentialFieldTable.rows
    var names = rows.indices.filter { words[$0 >> 6] & 1 << UInt64($0 & 63) != 0 }.map { rows[$0].name }
    if configured != 0 {
      for (index, name) in (policy?.removedNames ?? []).prefix(64).enumerated()
      where configured & 1 << UInt64(index) != 0 && !names.contains(name) {
        names.append(name)
      }
    }
    let more = names.count - Self.most + (hasMore ? 1 : 0)
    return (names.prefix(Self.most) + (more > 0 ? ["+\(more)"] : [])).joined(separator: ",")
  }
}

extension HeaderPolicy {
  /// The names of fields and parameters that the policy removes or replaces in requests.
  var removedNames: [String] { remove + set.map(\.lowercasedName) + removeParameters }

  /// The index in `removedNames` of the first name of `removeParameters`.
  package var firstRemovedParameter: Int { remove.count &+ set.count }
}
