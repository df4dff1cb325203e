/// That the daemon lets nothing out, since no record could be kept.
struct Unrecorded {
  let row: String

  /// nil: it does not.
  init?(_ status: StatusDocument) {
    guard let reason = status.audit?.refusing else { return nil }
    row = "required, and cannot be written now: \(reason.harmless)"
  }
}
