/// All attacks that consist of one message. `bearerctl selftest` and the end-to-end tests run them.
package enum AttackTable {
  private static let fixed =
    NameRows.all + PageRows.all + FieldRows.all + LengthRows.all + ChunkRows.all + ResponseRows.all

  package static let threats = Set(fixed.map(\.threat) + [PathRows.threat]).sorted()

  package static func rows(at context: AttackContext) -> [AttackRow] {
    (fixed + PathRows.all(at: context)).filter { context.matches($0) }
  }
}
