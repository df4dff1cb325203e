/// That the upstream kept rejecting the credential.
struct SuspensionView {
  private let rejections: Int
  private let seconds: Int

  /// nil: it did not.
  init?(_ credential: String, at origin: String, _ status: StatusDocument) {
    let credential = status.credentials.first { $0.name == credential }
    guard let suspension = credential?.suspended.first(where: { $0.upstream == origin }) else { return nil }
    rejections = suspension.rejections
    seconds = suspension.seconds
  }

  /// Otherwise the next request is the one that tries it.
  var refuses: Bool { seconds > 0 }

  var row: String {
    let reason = "this upstream rejected it \(counted(rejections, "time")) in a row"
    return refuses
      ? "suspended now, for another \(Age(seconds)): \(reason)" : "one request may try it now: \(reason)"
  }
}
