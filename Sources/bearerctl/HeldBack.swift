internal import Configuration
internal import Gateway
internal import Policy

/// What only a running daemon knows of a request that would go out: that the upstream kept rejecting its credential.
struct HeldBack {
  private static let patience: UInt64 = 2

  private let rejections: Int
  private let seconds: Int

  /// nil: it is not, or there is nobody to say so.
  init?(_ explanation: Explanation, of loaded: LoadedConfiguration) {
    guard explanation.refusal == nil, let route = explanation.route, let grant = explanation.grant,
      let client = ControlClient(of: loaded),
      let status = try? StatusDocument(asking: client, seconds: HeldBack.patience),
      // The usual place is that of whichever daemon this user runs.
      loaded.settings.controlSocket != nil || status.configuration.file == loaded.file
    else { return nil }
    let origin = loaded.settings.rules.services[route.service].upstream.origin.description
    let credential = status.credentials.first { $0.name == grant.name }
    guard let suspension = credential?.suspended.first(where: { $0.upstream == origin }) else { return nil }
    rejections = suspension.rejections
    seconds = suspension.seconds
  }

  /// Otherwise the next request is the one that tries it.
  var refuses: Bool { seconds > 0 }

  var row: String {
    let reason = "this upstream rejected it \(counted(rejections, "time")) in a row"
    return refuses
      ? "held back now, for another \(Age(seconds)): \(reason)" : "one request may try it now: \(reason)"
  }
}
