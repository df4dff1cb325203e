/// All attacks, by number; those after which the daemon is no longer as it was come last.
enum AttackSet {
  static let all =
    (BrowserAttacks.all + LocalAttacks.all + PathAttacks.all + FieldAttacks.all + FramingAttacks.all
    + AnswerAttacks.all + SessionAttacks.all).sorted { $0.id < $1.id } + SecretAttacks.all
}
