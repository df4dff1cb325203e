internal import HTTP2
package import Policy
package import Redaction
package import Secrets
package import Settings
internal import System

/// All credentials of one configuration. Only the keyring has the secrets, and only `authorize` sends them.
package final class Keyring {
  package struct Entry: Sendable {
    package let grant: Grant
    package let scheme: AuthScheme

    package init(grant: Grant, scheme: AuthScheme) {
      self.grant = grant
      self.scheme = scheme
    }

    var files: [SecretSource] { scheme.files + (scheme.token?.sources.map(\.source).filter(\.isFile) ?? []) }
    var commands: [SecretCommand] {
      scheme.commands + (scheme.token?.sources.compactMap(\.source.command) ?? [])
    }
  }

  package struct Status: Sendable, Equatable {
    /// Incremented each time the secret's bytes change; 0 if it was never loaded.
    package let secretVersion: UInt64
    /// Why the secret is not available or not renewed, and what to do; `nil` if nothing is wrong.
    package let problem: String?
  }

  let plan: KeyringPlan
  let slots: [CredentialSlot]
  /// The buffer that combines a request and its credential before encryption; zero except during `authorize`, and while `stage`
  /// has requests.
  let staging: LockedMemory
  /// The requests that wait for the end of a turn of the loop, in `staging`.
  let stage: RequestStage
  let reader: SecretReader
  /// Writes the fields of requests in HTTP/2.
  let fields = HTTP2RequestFields()
  /// The generation of this keyring's configuration. Sessions of another generation get no credential.
  package var configuration: UInt64 = 1
  package internal(set) var jars: CookieJars?

  /// Creates the keyring from a complete builder, which cannot be used again. Missing secrets are not an error, but
  /// appear in `status`.
  init(_ draft: KeyringBuilder) throws(AuthorizationError) {
    (plan, slots, staging, reader) = (draft.plan, draft.slots, draft.staging, draft.reader)
    stage = RequestStage(memory: staging)
    try draft.checkLockedMemory(isLocked)
  }

  /// Size of `staging` in bytes: the maximum plaintext size of a TLS record (RFC 8446 section 5.1).
  static let stagingSize = 16_384

  package var grantCount: Int { slots.count }

  /// Returns the credential of a grant; `nil` if there is no such grant.
  func slot(_ index: Int) -> CredentialSlot? { slots.indices.contains(index) ? slots[index] : nil }

  package func status(ofGrant index: Int) -> Status {
    guard let slot = slot(index) else { return Status(secretVersion: 0, problem: "there is no such credential") }
    return Status(secretVersion: slot.history.secretVersion, problem: slot.problem)
  }

  package func isAvailable(grant index: Int) -> Bool { slot(index)?.rendered.isThere ?? false }

  package func secretVersion(ofGrant index: Int) -> UInt64 { slot(index)?.history.secretVersion ?? 0 }

  /// Returns when the value was first read or last changed, in seconds since 1970; 0 if the value was never loaded.
  package func changedAt(ofGrant index: Int) -> Int64 { slot(index)?.history.changedAt ?? 0 }

  /// Returns eight hexadecimal digits that identify the value while this process runs; `nil` if there is no value.
  package func fingerprint(ofGrant index: Int) -> String? { slot(index)?.fingerprint }

  /// Returns and clears the patterns for finding secrets in the response to the last request sent with this grant.
  /// `nil` if there are none.
  package func popSentPatterns(ofGrant index: Int) -> SecretPatterns? { slot(index)?.sent.take() }

  /// Returns the patterns of the credential's own value; `nil` if there is no value.
  package func patterns(ofGrant index: Int) -> SecretPatterns? { slot(index)?.rendered.patterns }

  package var isLocked: Bool {
    staging.isLocked && reader.arena.isLocked && reader.commands.isLocked && reader.files.isLocked
      && reader.tokens.isLocked
  }

  // MARK: files

  package var fileContents: FileValues { reader.files }

  package var files: Set<SecretSource> { plan.files }

  package func hasFiles(grant index: Int) -> Bool { slot(index)?.traits.hasFiles ?? false }

  package func files(ofGrant index: Int) -> [SecretSource] { slot(index)?.traits.files ?? [] }

  /// Renders the credentials of a changed file again, and returns the indices of changed grants. An unusable new value
  /// keeps the last good value; a deleted file makes the credential unavailable.
  /// - Parameters:
  ///   - pending: files that are still being read. Their credentials do not change.
  ///   - loggedOut: credentials that were logged out after the read began.
  package func reload(file: SecretSource, pending: Set<SecretSource> = [], loggedOut: Set<String> = []) -> [Int] {
    slots.reload(plan.users(of: file), reader, pending: pending, loggedOut: loggedOut)
  }

  package func users(of file: SecretSource) -> [Int] { plan.users(of: file) }

  // MARK: commands

  /// All commands whose output is needed by a credential that is not logged out.
  package var commands: Set<SecretCommand> {
    plan.indicesWithCommands.reduce(into: []) { if !slots[$1].isLoggedOut { $0.formUnion(plan.rows[$1].commands) } }
  }

  package var commandOutputs: CommandValues { reader.commands }

  /// Returns the required forms of a source's value, one for each use of the source.
  func forms(of source: SecretSource) -> [SecretForm] {
    let users = source.command.map { plan.users(of: $0) } ?? Array(slots.indices)
    return users.flatMap { slots[$0].entry.scheme.sources }.filter { $0.source == source }.map(\.form)
  }

  /// Renders the credentials that use the command's output again. Returns the indices of their grants.
  package func reload(command: SecretCommand) -> [Int] {
    slots.reload(plan.users(of: command), reader)
    return plan.users(of: command)
  }

  package func users(of command: SecretCommand) -> [Int] { plan.users(of: command) }

  /// Whether a program of the grant is notified when an upstream accepts or rejects its value.
  package func wantsFeedback(grant index: Int) -> Bool { slot(index)?.traits.wantsFeedback ?? false }

  /// Returns the current values of those programs of the grant that are notified of acceptance or rejection.
  package func helperValues(ofGrant index: Int) -> [HelperValue] {
    guard let slot = slot(index) else { return [] }
    return Set(slot.entry.scheme.commands).filter(\.wantsFeedback).map {
      HelperValue(command: $0, version: reader.commands.version(of: $0))
    }
  }

  /// Whether the credential waits for a command: for its first run, or the first run after a rejection.
  package func isCommandPending(grant index: Int) -> Bool {
    slots.indices.contains(index) && plan.rows[index].commands.contains { reader.commands.isPending($0) }
  }
}

/// The credentials of a keyring that is no longer in use, to be wiped in small steps.
package struct RetiredKeyring {
  private var slots: [CredentialSlot]

  package init(_ keyring: Keyring) { slots = keyring.slots }

  /// Releases at least one credential, and more while `hasTime` returns `true`. Returns whether all are released.
  package mutating func release(while hasTime: () -> Bool) -> Bool {
    while slots.popLast() != nil { if !hasTime() { break } }
    return slots.isEmpty
  }
}
