/// The attacks of `bearerctl selftest`, in the sections of docs/security/threats.md.
enum AttackSet {
  struct Section: Sendable {
    let title: String
    let attacks: [Attack]

    init(_ title: String, _ ids: ClosedRange<Int>) {
      self.title = title
      attacks = AttackSet.all.filter { ids.contains($0.id) }.sorted { $0.id < $1.id }
    }
  }

  static let sections = [
    Section("A. Who reaches the daemon", 1...9), Section("B. What a request asks for", 10...20),
    Section("C. The upstream connection", 21...31), Section("D. What comes back", 32...37),
    Section("E. The life of a credential", 38...47), Section("F. Leaks on the machine", 48...53),
    Section("H. Found by attacking it", 60...69),
  ]

  private static let all =
    BrowserAttacks.all + ListenerAttacks.all + PathAttacks.all + RuleAttacks.all + BodyAttacks.all + FieldAttacks.all
    + FramingAttacks.all + ResponseAttacks.all + SessionAttacks.all + UpstreamAttacks.all + RejectionAttacks.all
    + ConfigurationAttacks.all
}
