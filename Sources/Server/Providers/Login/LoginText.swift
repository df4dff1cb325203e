internal import Settings

/// The message to a person at the end of a successful login.
struct LoginText: CustomStringConvertible {
  let firstLine: String
  private let store: String?
  private let isInMemory: Bool

  init(_ new: NewLogin, isRenewable: Bool, of source: TokenSource) {
    let time = new.lifetime.map { "is valid for \(Self.duration($0 / 1000))" } ?? "is used until the API rejects it"
    let renewal = isRenewable ? "and bearerd renews it" : "and cannot be renewed. After that, you have to log in again"
    if source.oauth1 != nil {
      firstLine = "\(source.credential) is logged in: bearerd uses its token until you log out"
    } else {
      firstLine = "\(source.credential) is logged in: its token \(time), \(renewal)"
    }
    (store, isInMemory) = (source.store, source.keepsLoginInMemory)
  }

  var description: String {
    let place =
      store.map { "The login is stored in \($0), with mode 0600.\n" }
      ?? (isInMemory ? "The login is only in memory: after a restart of bearerd, you have to log in again.\n" : "")
    return "\(firstLine)\n\(place)"
  }

  /// Formats a duration, such as `59 min`, `3 h 20 min` or `45 s`.
  private static func duration(_ seconds: UInt64) -> String {
    if seconds < 120 { return "\(seconds) s" }
    if seconds < 7200 { return "\(seconds / 60) min" }
    if seconds < 172_800 { return "\(seconds / 3600) h" + (seconds % 3600 >= 60 ? " \(seconds % 3600 / 60) min" : "") }
    return "\(seconds / 86_400) days"
  }
}
