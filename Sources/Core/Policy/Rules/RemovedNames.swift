/// The names of what was removed from a request because it carries a credential or chooses an identity, a method or a path.
/// They are the table's own, so that no byte of a client's gets into the log.
package struct RemovedNames: Sendable, Equatable {
  /// One bit for each row of `CredentialFieldTable.rows`.
  private var words = SIMD4<UInt64>()

  package init() {}

  package var isEmpty: Bool { words == SIMD4() }

  package mutating func insert(_ field: CredentialField) {
    words[Int(field.index >> 6)] |= 1 << UInt64(field.index & 63)
  }

  /// Names that are written out; of others there is the number.
  private static let most = 8

  /// The names with commas between them, in the table's order, and how many more there are: `cookie,sudo,+2`.
  package var description: String {
    let rows = CredentialFieldTable.rows
    let places = rows.indices.filter { words[$0 >> 6] & 1 << UInt64($0 & 63) != 0 }
    let named = places.prefix(Self.most).map { rows[$0].name }
    let more = places.count > Self.most ? ["+\(places.count - Self.most)"] : []
    return (named + more).joined(separator: ",")
  }
}
