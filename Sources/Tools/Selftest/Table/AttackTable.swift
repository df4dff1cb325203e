/// Every attack that is a message and what has to come of it. `bearerctl selftest` plays them under a configuration's rules, and
/// Tests/EndToEnd under its own: a new one is a new row.
package enum AttackTable {
  private static let fixed =
    NameRows.all + PageRows.all + FieldRows.all + LengthRows.all + ChunkRows.all + AnswerRows.all

  /// The threats that have rows, by their numbers.
  package static let threats = Set(fixed.map(\.threat) + [PathRows.threat]).sorted()

  /// All that can be played at a place.
  package static func rows(at place: AttackPlace) -> [AttackRow] {
    (fixed + PathRows.all(at: place)).filter { place.concerns($0) }
  }
}
