/// All threats of docs/security/threats.md, in its sections.
enum AttackSet {
  struct Section: Sendable {
    let title: String
    let attacks: [Attack]

    init(_ title: String, _ ids: ClosedRange<Int>, last: Int? = nil) {
      self.title = title
      let own = AttackSet.all.filter { ids.contains($0.id) }.sorted { $0.id < $1.id }
      attacks = own.filter { $0.id != last } + own.filter { $0.id == last }
    }
  }

  static let sections = [
    Section("A. Who reaches the daemon", 1...9), Section("B. What is asked for", 10...20),
    Section("C. The upstream connection", 21...31), Section("D. What comes back", 32...37),
    Section("E. The life of a credential", 38...47), Section("G. Under load and under attack", 54...59),
    Section("H. Found by attacking it", 60...68),
    // T48 looks at everything that was said until then.
    Section("F. Leaks on the machine", 48...53, last: 48),
  ]

  private static let all =
    BrowserAttacks.all + LocalAttacks.all + PlaceAttacks.all + PathAttacks.all + RuleAttacks.all + BodyAttacks.all
    + FieldAttacks.all
    + FramingAttacks.all + AnswerAttacks.all + SessionAttacks.all + UpstreamAttacks.all + SecretAttacks.all
    + SourceAttacks.all + RejectionAttacks.all + ChangeAttacks.all + LoadAttacks.all + HangingAttacks.all
    + TimeAttacks.all
    + AuditAttacks.all + MemoryAttacks.all + ConfigurationAttacks.all + Unplayed.all
}
