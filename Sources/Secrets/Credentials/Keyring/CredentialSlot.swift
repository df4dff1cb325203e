internal import Policy
internal import System

/// One credential of the keyring: its lines, ready to be written, and how fresh they are.
final class CredentialSlot {
  let entry: Keyring.Entry
  /// Those that its lines are made of.
  let files: [SecretSource]
  let hasFiles: Bool
  let hasListeners: Bool
  /// Both nil: its lines are the same for every request. Of Digest they are user, colon and password; of a registry the same in
  /// base64, or nothing.
  let digest: (spaces: DigestSpaces, hashes: Set<DigestHash>)?
  let registry: (tokens: RegistryTokens, source: TokenSource)?
  /// Of a credential that waits until it is asked for.
  let reactiveAuthentication: ReactiveAuthentication?
  /// What is written depends on what the upstream has asked for: one of the three above.
  let answersChallenges: Bool
  /// nil: not available.
  private(set) var lines: Secret?
  /// Asked for each request: to look at what may be changed costs a check.
  private(set) var hasLines = false
  /// Of the same lines; and whether they are written as they are.
  private(set) var layout = LineLayout()
  private(set) var isPlain = true
  /// Of the same value; nil with it.
  private(set) var patterns: SecretPatterns?
  /// Which contents of its files they were made of; nil: not of files alone, or unknown. The same ones give the same lines.
  private var basis: [UInt64]?
  private(set) var generation: UInt64 = 0
  private(set) var problem: String?
  /// When the value was read that differs from the one before; seconds since 1970.
  private(set) var changedAt: Int64 = 0
  /// Of the value that was the last one to go; nil: none has gone.
  private var formerFingerprint: String?
  /// Somebody has ended the use of that value, and of no other one.
  private var hasEnded = false

  let cookiePatterns = CookiePatterns()
  /// What to look for in the answer to the request that went out last, until somebody does.
  var sent: SecretPatterns?

  /// What is kept for its value goes with it.
  var jars: CookieJars? { didSet { keepCookies() } }

  /// Of credentials that go out together: each by itself.
  private let parts: [CredentialSlot]
  private let isOfFiles: Bool
  /// The same credential of an earlier configuration, as long as that is there: of the same contents it has what this one needs.
  private weak var earlier: CredentialSlot?

  /// - Parameter parts: those of its grant.
  init(_ row: KeyringPlan.Row, parts: [CredentialSlot]) {
    let entry = row.entry
    self.entry = entry
    self.parts = parts
    (files, isOfFiles) = (row.files, row.isOfFiles)
    hasFiles = !files.isEmpty
    hasListeners = entry.scheme.commands.contains(where: \.isListener)
    digest = entry.scheme.hashes.map { (DigestSpaces(), $0) }
    registry = entry.scheme.registry.map { (RegistryTokens(), $0) }
    reactiveAuthentication =
      if case .awaited(let scheme) = entry.grant.authRetry { ReactiveAuthentication(scheme) } else { nil }
    answersChallenges = digest != nil || registry != nil || reactiveAuthentication != nil
  }

  /// Renders anew what its sources hold. True when what would be written has changed.
  ///
  /// A value that is unusable leaves the last good one in place, and the problem says so: half-written files are more
  /// common than revocations. A file that is gone takes the value with it, and so does a command whose value's time is over:
  /// lines with an earlier one must not outlive that.
  ///
  /// While a file takes long to read, everything stays: with another file's new value it could be half of two.
  ///
  /// - Parameter isOfBefore: it was there already when somebody logged out.
  func load(_ reader: SecretReader, isOfBefore: Bool = false) -> Bool {
    if hasLines, isLasting, let delay = delay(reader) {
      problem = delay
      return false
    }
    if isLoggedOut, !entry.scheme.commands.isEmpty || !parts.isEmpty { return false }
    let basis = isOfFiles ? reader.files.numbers(of: files) : nil
    if hasLines, basis != nil, basis == self.basis {
      problem = delay(reader)
      return false
    }
    do throws(SecretProblem) {
      let fresh = try render(reader, basis)
      if hasEnded {
        let fingerprint = fresh.lines.withBytes { FingerprintKey.ofProcess.fingerprint(of: $0) }
        if isOfBefore { formerFingerprint = fingerprint }
        if fingerprint == formerFingerprint { return false }
        hasEnded = false
      }
      problem =
        entry.scheme.commands.lazy.compactMap { reader.commands.failure(of: $0) }.first
        ?? entry.scheme.token.flatMap { reader.tokens.failure(of: $0) } ?? delay(reader)
      self.basis = basis
      if isCurrent(fresh.lines) { return false }
      forgetChallenges()
      patterns = fresh.patterns
      layout = fresh.layout
      isPlain = layout.isPlain
      lines = .some((consume fresh).lines)
      hasLines = true
      keepCookies()
      generation &+= 1
      changedAt = Clock.now.seconds
      return true
    } catch {
      if isLoggedOut { return false }
      guard hasLines, !error.isMissing, isLasting else {
        problem = error.sentence
        let hadLines = hasLines
        drop()
        return hadLines
      }
      problem = error.sentence + SecretProblem.stillInUse
      return false
    }
  }

  /// What an earlier configuration has made of the same contents is as good: to look for a secret costs more to prepare than
  /// all the rest.
  private func render(_ reader: SecretReader, _ basis: [UInt64]?) throws(SecretProblem) -> CredentialLines.Rendered {
    if let earlier, basis != nil, basis == earlier.basis, let patterns = earlier.patterns, patterns.isLocked,
      let lines = earlier.linesCopied(to: reader.arena)
    {
      return CredentialLines.Rendered(lines: lines, layout: earlier.layout, patterns: patterns)
    }
    return try CredentialLines(reader: reader).render(entry.scheme)
  }

  private func linesCopied(to arena: SecretArena) -> Secret? {
    switch lines {
    case .some(let lines):
      guard var copy = try? Secret(capacity: lines.count, in: arena) else { return nil }
      guard (try? lines.withBytes({ try copy.append($0) })) != nil else { return nil }
      return copy
    case .none: return nil
    }
  }

  // MARK: logout

  /// Wipes its value, and does not take it again. A program may give another one each time: none of those is taken either.
  func logOut() {
    drop()
    jars?.forget(entry.grant.name)
    guard parts.isEmpty else { return problem = "somebody has logged out one of its credentials" }
    if entry.scheme.token != nil { return }
    hasEnded = true
    problem =
      hasFiles && entry.scheme.commands.isEmpty
      ? "somebody has logged it out: another value of its source, or bearerctl reload, brings it back"
      : "somebody has logged it out: bearerctl reload brings it back"
  }

  var isLoggedOut: Bool { hasEnded || parts.contains(where: \.isLoggedOut) }

  private func drop() {
    formerFingerprint = fingerprint ?? formerFingerprint
    lines = nil
    basis = nil
    hasLines = false
    patterns = nil
    forgetChallenges()
    keepCookies()
  }

  private func forgetChallenges() {
    cookiePatterns.forget()
    sent = nil
    digest?.spaces.forget()
    registry?.tokens.forget()
  }

  /// Its value has no end of its own.
  private var isLasting: Bool { entry.scheme.commands.isEmpty && entry.scheme.token == nil }

  /// A file of it is being read, and what the others hold may belong to another value.
  func standBy() {
    if !hasLines { problem = "its files are still being read" }
  }

  /// Goes on counting where the same credential of an earlier configuration stopped.
  func follow(_ earlier: CredentialSlot) {
    formerFingerprint = earlier.fingerprint ?? earlier.formerFingerprint
    switch earlier.lines {
    case .some(let lines):
      let isSame = isCurrent(lines)
      generation = earlier.generation &+ (isSame ? 0 : 1)
      if isSame { changedAt = earlier.changedAt }
    case .none: generation = earlier.generation &+ (hasLines ? 1 : 0)
    }
  }

  /// The same credential of an earlier configuration has lines, and a file of it takes long to read: they stay, too.
  func inherit(_ earlier: CredentialSlot, _ reader: SecretReader, isPending: Bool) {
    guard entry.scheme == earlier.entry.scheme else { return }
    self.earlier = earlier
    guard isPending || delay(reader) != nil, let copy = earlier.linesCopied(to: reader.arena) else { return }
    lines = .some(copy)
    hasLines = true
    (patterns, generation, changedAt) = (earlier.patterns, earlier.generation, earlier.changedAt)
    (layout, isPlain, basis) = (earlier.layout, earlier.isPlain, earlier.basis)
  }

  private func delay(_ reader: SecretReader) -> String? {
    files.lazy.compactMap { reader.files.failure(of: $0) }.first
  }

  var fingerprint: String? {
    switch lines {
    case .some(let lines): lines.withBytes { FingerprintKey.ofProcess.fingerprint(of: $0) }
    case .none: nil
    }
  }

  private func isCurrent(_ fresh: borrowing Secret) -> Bool {
    switch lines {
    case .some(let lines): lines.isEqual(to: fresh)
    case .none: false
    }
  }
}
