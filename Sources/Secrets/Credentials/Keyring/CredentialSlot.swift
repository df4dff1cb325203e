internal import Policy
@_spi(SecretBytes) internal import Secrets
internal import Redaction
internal import System

/// One credential of the keyring: its lines, ready to be written, and how fresh they are.
final class CredentialSlot {
  let entry: Keyring.Entry
  let traits: CredentialTraits
  /// The field lines, complete; nil: the credential is not available.
  private(set) var lines: Secret?
  private(set) var rendered = RenderedValue()
  private(set) var history = ValueHistory()
  /// Why the credential is not available, or what is wrong with its sources; nil: nothing.
  private(set) var problem: String?

  let cookiePatterns = CookiePatterns()
  /// The patterns to look for in the answer to the request that went out last, until they have been taken.
  var sent: SecretPatterns?

  /// The jars of cookies that are kept for the value, and go with it.
  var jars: CookieJars? { didSet { keepCookies() } }

  /// The slots of the credentials that go out together as this one, each by itself.
  private let parts: [CredentialSlot]
  /// The slot of this credential in an earlier configuration, as long as that is there: of the same contents it has what this
  /// one needs.
  private weak var earlier: CredentialSlot?

  /// Facts of the lines that need no look at them: each request asks, and a look at what may change costs a check.
  struct RenderedValue {
    /// Whether there are lines.
    var isThere = false
    /// The places where the lines are written.
    var layout = LineLayout()
    /// Whether the lines are written as they are.
    var isPlain = true
    /// The secrets in the lines, for the search in answers; nil: there are no lines.
    var patterns: SecretPatterns?
    /// The numbers of the files' contents that the lines were made of; nil: not of files alone, or unknown. The same contents give
    /// the same lines.
    var basis: [UInt64]?
  }

  /// Which values there were.
  struct ValueHistory {
    /// Counts up with each value that differs from the one before.
    var generation: UInt64 = 0
    /// When such a value was read last; seconds since 1970.
    var changedAt: Int64 = 0
    /// The fingerprint of the value that went last; nil: none has gone.
    var formerFingerprint: String?
    /// Whether the use of that value, and of no other one, was ended by a logout.
    var hasEnded = false
  }

  /// - Parameter parts: the slots of its grant's parts.
  init(_ row: KeyringPlan.Row, parts: [CredentialSlot]) {
    entry = row.entry
    traits = CredentialTraits(row)
    self.parts = parts
  }

  /// Renders anew what its sources hold. True when what would be written has changed.
  ///
  /// A value that is unusable leaves the last good one in place, and the problem says so: half-written files are more
  /// common than revocations. A file that is gone takes the value with it, and so does a command whose value's time is over:
  /// lines with an earlier one must not outlive that.
  ///
  /// While a file takes long to read, everything stays: with another file's new value it could be half of two.
  ///
  /// - Parameter isOfBefore: whether what the sources hold was there already at the logout.
  func load(_ reader: SecretReader, isOfBefore: Bool = false) -> Bool {
    if rendered.isThere, isLasting, let delay = delay(reader) {
      problem = delay
      return false
    }
    if isLoggedOut, !entry.scheme.commands.isEmpty || !parts.isEmpty { return false }
    let basis = traits.isOfFiles ? reader.files.numbers(of: traits.files) : nil
    if rendered.isThere, basis != nil, basis == rendered.basis {
      problem = delay(reader)
      return false
    }
    do throws(SecretProblem) {
      let fresh = try render(reader, basis)
      if history.hasEnded {
        let fingerprint = fresh.lines.withBytes { FingerprintKey.ofProcess.fingerprint(of: $0) }
        if isOfBefore { history.formerFingerprint = fingerprint }
        if fingerprint == history.formerFingerprint { return false }
        history.hasEnded = false
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
      history.generation &+= 1
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

  /// Makes the lines, or copies those that an earlier configuration has made of the same contents: to look for a secret costs
  /// more to prepare than all the rest.
  private func render(_ reader: SecretReader, _ basis: [UInt64]?) throws(SecretProblem) -> CredentialLines.Rendered {
    if let earlier, basis != nil, basis == earlier.rendered.basis, let patterns = earlier.rendered.patterns,
      patterns.isLocked,
      let lines = earlier.linesCopied(to: reader.arena)
    {
      return CredentialLines.Rendered(lines: lines, layout: earlier.rendered.layout, patterns: patterns)
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
    guard parts.isEmpty else { return problem = "one of its credentials was logged out" }
    if entry.scheme.token != nil { return }
    history.hasEnded = true
    problem =
      traits.hasFiles && entry.scheme.commands.isEmpty
      ? "it was logged out: to use it again, change the value of its source or run bearerctl reload"
      : "it was logged out: to use it again, run bearerctl reload"
  }

  var isLoggedOut: Bool { history.hasEnded || parts.contains(where: \.isLoggedOut) }

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

  /// Whether the value has no end of its own: it comes neither from a command nor from a token endpoint.
  private var isLasting: Bool { entry.scheme.commands.isEmpty && entry.scheme.token == nil }

  /// A file of it is being read, and what the others hold may belong to another value.
  func standBy() {
    if !rendered.isThere { problem = "its files are still being read" }
  }

  /// Goes on counting where the same credential of an earlier configuration stopped.
  func follow(_ earlier: CredentialSlot) {
    history.formerFingerprint = earlier.fingerprint ?? earlier.history.formerFingerprint
    switch earlier.lines {
    case .some(let lines):
      let isSame = isCurrent(lines)
      history.generation = earlier.history.generation &+ (isSame ? 0 : 1)
      if isSame { history.changedAt = earlier.history.changedAt }
    case .none: history.generation = earlier.history.generation &+ (rendered.isThere ? 1 : 0)
    }
  }

  /// Takes over the lines of this credential in an earlier configuration while one of its files takes long to read.
  func inherit(_ earlier: CredentialSlot, _ reader: SecretReader, isPending: Bool) {
    guard entry.scheme == earlier.entry.scheme else { return }
    self.earlier = earlier
    guard isPending || delay(reader) != nil, let copy = earlier.linesCopied(to: reader.arena) else { return }
    lines = .some(copy)
    rendered = earlier.rendered
    (history.generation, history.changedAt) = (earlier.history.generation, earlier.history.changedAt)
  }

  private func delay(_ reader: SecretReader) -> String? {
    traits.files.lazy.compactMap { reader.files.failure(of: $0) }.first
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
