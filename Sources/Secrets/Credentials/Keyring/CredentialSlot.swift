internal import Policy
@_spi(SecretBytes) internal import Secrets
internal import Redaction
internal import Settings
internal import System

/// A credential of the keyring, with the header fields by which requests carry it (`lines`).
final class CredentialSlot {
  let entry: Keyring.Entry
  let traits: CredentialTraits
  /// The credential in the form for requests, usually complete header fields; `nil` if it is not available.
  private(set) var lines: Secret?
  private(set) var rendered = RenderedValue()
  private(set) var history = ValueHistory()
  /// Why the credential is not available, or what is wrong with its sources; `nil` if nothing is wrong.
  private(set) var problem: String?

  let cookiePatterns = CookiePatterns()
  /// The patterns for the response to the last request, until `popSentPatterns` removes them.
  var sent: SecretPatterns?

  var jars: CookieJars? { didSet { keepCookies() } }

  /// The credentials that are sent together as this credential.
  private let parts: [CredentialSlot]
  /// The same credential in the previous configuration; `nil` if there is none or it has been released.
  private weak var earlier: CredentialSlot?

  /// Properties of `lines`.
  struct RenderedValue {
    var isThere = false
    var layout = LineLayout()
    /// Whether requests carry `lines` unchanged.
    var isPlain = true
    /// The secrets to search for in responses; `nil` if there are no lines.
    var patterns: SecretPatterns?
    /// Versions of the files from which the lines were rendered; `nil` if unknown or without files.
    var basis: [UInt64]?
  }

  struct ValueHistory {
    var secretVersion: UInt64 = 0
    /// When the value last changed, in seconds since 1970.
    var changedAt: Int64 = 0
    /// Fingerprint of the value that was dropped last; `nil` if no value was dropped.
    var formerFingerprint: String?
    /// Whether the value with `formerFingerprint` was dropped by a logout.
    var endedByLogout = false
  }

  init(_ row: KeyringPlan.Row, parts: [CredentialSlot]) {
    entry = row.entry
    traits = CredentialTraits(row)
    self.parts = parts
  }

  /// Renders `lines` again from the sources, and returns whether `lines` has changed.
  /// - Parameter isFromBeforeLogout: whether the sources already had these values at the time of the logout.
  func load(_ reader: SecretReader, isFromBeforeLogout: Bool = false) -> Bool {
    // An unusable new value keeps the last good value, because half-written files are more common than revocations. A
    // missing file or an expired value of a command drops the lines. While a file takes long to read, nothing changes:
    // the lines could combine its old value with a new value of another file.
    if rendered.isThere, isLasting, let delay = delay(reader) {
      problem = delay
      return false
    }
    if isLoggedOut, !entry.scheme.commands.isEmpty || !parts.isEmpty { return false }
    let basis = traits.isOfFiles ? reader.files.versions(of: traits.files) : nil
    if rendered.isThere, basis != nil, basis == rendered.basis {
      problem = delay(reader)
      return false
    }
    do throws(SecretProblem) {
      let fresh = try render(reader, basis)
      if history.endedByLogout {
        let fingerprint = fresh.lines.withBytes { FingerprintKey.shared.fingerprint(of: $0) }
        if isFromBeforeLogout { history.formerFingerprint = fingerprint }
        if fingerprint == history.formerFingerprint { return false }
        history.endedByLogout = false
      }
      problem =
        entry.scheme.commands.lazy.compactMap { reader.commands.failure(of: $0) }.first
        ?? entry.scheme.token.flatMap { reader.tokens.failure(of: $0) } ?? delay(reader)
      rendered.basis = basis
      if isCurrent(fresh.lines) { return false }
      discardChallenges()
      rendered = RenderedValue(
        isThere: true, layout: fresh.layout, isPlain: fresh.layout.isPlain, patterns: fresh.patterns, basis: basis)
      lines = .some((consume fresh).lines)
      keepCookies()
      history.secretVersion &+= 1
      history.changedAt = Clock.now.seconds
      return true
    } catch {
      if isLoggedOut { return false }
      guard rendered.isThere, !error.isMissing, isLasting else {
        problem = error.sentence
        let hadLines = rendered.isThere
        drop()
        return hadLines
      }
      problem = error.sentence + SecretProblem.stillInUse
      return false
    }
  }

  /// Renders the lines, or copies them from an earlier configuration that used the same file contents.
  private func render(_ reader: SecretReader, _ basis: [UInt64]?) throws(SecretProblem) -> CredentialLines.Rendered {
    // Copying saves the preparation of the search patterns, the most expensive step.
    if let earlier, basis != nil, basis == earlier.rendered.basis, let patterns = earlier.rendered.patterns,
      patterns.isLocked,
      let lines = earlier.linesCopied(to: reader.arena)
    {
      return CredentialLines.Rendered(lines: lines, layout: earlier.rendered.layout, patterns: patterns)
    }
    return try CredentialLines(reader: reader).render(entry.scheme)
  }

  private func linesCopied(to arena: SecretArena) -> Secret? {
    lines.withValue { lines in
      try? lines.withBytes { (bytes) throws(SystemError) in try Secret.copy(of: bytes, in: arena) }
    } ?? nil
  }

  // MARK: logout

  /// Wipes the value, and makes `load` reject the same value from files, and every value from a program.
  func logOut() {
    drop()
    jars?.forget(entry.grant.name)
    guard parts.isEmpty else { return problem = "one of its credentials was logged out" }
    if entry.scheme.token != nil { return }
    history.endedByLogout = true
    problem =
      traits.hasFiles && entry.scheme.commands.isEmpty
      ? "it was logged out: to use it again, change the value of its source or run bearerctl reload"
      : "it was logged out: to use it again, run bearerctl reload"
  }

  var isLoggedOut: Bool { history.endedByLogout || parts.contains(where: \.isLoggedOut) }

  private func drop() {
    history.formerFingerprint = fingerprint ?? history.formerFingerprint
    lines = nil
    rendered = RenderedValue(layout: rendered.layout, isPlain: rendered.isPlain)
    discardChallenges()
    keepCookies()
  }

  private func discardChallenges() {
    cookiePatterns.forget()
    sent = nil
    traits.digest?.spaces.forget()
    traits.registry?.tokens.forget()
  }

  /// Whether neither a command nor a token endpoint gives the value, so that it never expires.
  private var isLasting: Bool { entry.scheme.commands.isEmpty && entry.scheme.token == nil }

  /// Sets `problem` if the credential has no value because its files are still being read.
  func markPending() {
    if !rendered.isThere { problem = "its files are still being read" }
  }

  /// Takes over the secret version and the last fingerprint of the same credential in an earlier configuration.
  func continueHistory(of earlier: CredentialSlot) {
    history.formerFingerprint = earlier.fingerprint ?? earlier.history.formerFingerprint
    switch earlier.lines {
    case .some(let lines):
      let isSame = isCurrent(lines)
      history.secretVersion = earlier.history.secretVersion &+ (isSame ? 0 : 1)
      if isSame { history.changedAt = earlier.history.changedAt }
    case .none: history.secretVersion = earlier.history.secretVersion &+ (rendered.isThere ? 1 : 0)
    }
  }

  /// Sets `earlier` unless the scheme has changed, and copies its lines while a secret file has not been read.
  func inherit(_ earlier: CredentialSlot, _ reader: SecretReader, isPending: Bool) {
    guard entry.scheme == earlier.entry.scheme else { return }
    self.earlier = earlier
    guard isPending || delay(reader) != nil, let copy = earlier.linesCopied(to: reader.arena) else { return }
    lines = .some(copy)
    rendered = earlier.rendered
    (history.secretVersion, history.changedAt) = (earlier.history.secretVersion, earlier.history.changedAt)
  }

  private func delay(_ reader: SecretReader) -> String? {
    traits.files.lazy.compactMap { reader.files.failure(of: $0) }.first
  }

  var fingerprint: String? {
    lines.withValue { $0.withBytes { FingerprintKey.shared.fingerprint(of: $0) } } ?? nil
  }

  private func isCurrent(_ fresh: borrowing Secret) -> Bool { lines.withValue { $0.isEqual(to: fresh) } ?? false }

  // MARK: cookies

  /// Returns the login that the credential's cookies belong to; `nil` if the credential has no value.
  /// - Parameter number: the number of the OAuth login from which the tokens come.
  func cookieOwner(_ number: UInt64) -> CookieOwner? {
    // Renewed OAuth tokens belong to the same login. Any other new value may be another person's.
    guard rendered.isThere else { return nil }
    if let token = renewedToken { return .token(token, number) }
    return fingerprint.map { .value($0) }
  }

  /// Wipes the cookies of an earlier value, except for OAuth tokens.
  private func keepCookies() {
    guard let jars, renewedToken == nil else { return }
    if let holder = cookieOwner(0) { jars.keep(entry.grant.name, of: holder) } else { jars.forget(entry.grant.name) }
  }

  private var renewedToken: TokenSource? {
    guard entry.grant.parts.isEmpty, traits.registry == nil, let token = entry.scheme.token, token.form == nil else {
      return nil
    }
    return token
  }

  // MARK: responses

  /// Returns the patterns of all secrets that a request carries (T33); `nil` if the credential has no value.
  func patterns(
    sentBy attempt: ChallengeAttempt?, with cookies: CookieLine?, in arena: SecretArena
  ) throws(SystemError) -> SecretPatterns? {
    // Values that Digest and OAuth 1.0 compute for one request are not included: they are useless for other requests.
    guard var patterns = rendered.patterns else { return nil }
    if let registry = traits.registry, let serial = attempt?.serial {
      patterns = try registry.tokens.patterns(ofToken: serial, beside: patterns, in: arena)
    }
    guard let cookies else { return patterns }
    return try cookiePatterns.patterns(of: cookies, beside: patterns, in: arena)
  }
}

/// Caches the patterns of the last request's cookies, which the next request usually has too.
final class CookiePatterns {
  private var last: (cookies: CookieLine, own: SecretPatterns, all: SecretPatterns)?

  func patterns(
    of cookies: CookieLine, beside own: SecretPatterns, in arena: SecretArena
  ) throws(SystemError) -> SecretPatterns {
    if let last, last.own === own, last.cookies.secret.isEqual(to: cookies.secret) { return last.all }
    var keys = try SecretList(in: arena)
    try cookies.addKeys(to: &keys)
    let all = keys.ranges.isEmpty ? own : try SecretPatterns(own, and: keys, in: arena)
    last = (cookies, own, all)
    return all
  }

  func forget() { last = nil }
}
