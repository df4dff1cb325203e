package import Credentials
internal import EventLoop
internal import Gateway
internal import Log
internal import Policy
internal import Settings
package import Generations
internal import TLS
package import Transport

/// Keeps the credentials of one worker current: their files, programs and tokens.
package final class CredentialProviders {
  let context: WorkerContext
  package private(set) var generation: Generation
  /// The watcher of secret files. `nil` before `begin(after:)`.
  package private(set) var secrets: SecretWatcher?
  /// The requests that wait for the first output of a program. `nil` before `begin(after:)`.
  package private(set) var commands: CommandWaits?
  /// The requests that wait for a token. `nil` before `begin(after:)`.
  package private(set) var tokens: TokenWaiters?
  /// The next generation, while a reload prepares it. Otherwise `nil`.
  package var prepared: GenerationBuilder?
  /// Credentials that were logged out after the last reload began.
  package var loggedOutSinceReload: Set<String> = []
  package private(set) lazy var registries = RegistryClient(providers: self)
  private(set) lazy var tokenFileChecks = TokenFileChecks(providers: self)
  var onSecretRead: ((SecretSource, _ loggedOut: Set<String>) -> Void)?
  private var accounts = AccountWatch()
  /// Called with the name of a credential that has the value of another account (`on_change: cut`), before any request
  /// uses the new value.
  package var onAccountChange: ((String) -> Void)?
  let jars: CookieJars
  /// The link to the first worker. `nil` on the first worker.
  let link: (any ProvidersLink)?
  /// Posts a message to the providers of all other workers. Set only on the first worker.
  package var postToOthers: (@escaping ProvidersMessage) -> Void = { _ in }

  package init(context: WorkerContext, generation: Generation, jars: CookieJars, link: (any ProvidersLink)?) {
    self.context = context
    self.generation = generation
    self.jars = jars
    self.link = link
    updateJars()
  }

  var loop: Loop { context.loop }
  var deadlines: DeadlineQueue { context.deadlines }
  var log: EventLog { context.log }

  /// Whether a request can be sent without asking for a token or a secret file. Starts nothing.
  /// - Parameter hasFiles: whether the credential's value comes from files.
  package func needsNoWait(forGrant index: Int, hasFiles: Bool) -> Bool {
    if tokens?.needsNoWait(forGrant: index) == false { return false }
    return !hasFiles || secrets?.mustBeAsked(forGrant: index) != true
  }

  /// Returns why the credential's token is missing. `nil` if there is a token, or if the credential uses none.
  package func tokenFailure(ofGrant index: Int) -> ConnectFailure? { tokens?.failure(ofGrant: index) }
  /// Returns the version of the credential's token. 0 if there is no token.
  package func tokenVersion(ofGrant index: Int) -> UInt64 { tokens?.tokenVersion(ofGrant: index) ?? 0 }

  package func begin(after first: InitialLoad) {
    let secrets = SecretWatcher(providers: self, first: first)
    self.secrets = secrets
    let commands = CommandWaits(providers: self)
    if let link {
      commands.onVerdict = { value, isAccepted in
        link.postToFirstProviders { $0.commands?.onVerdict?(value, isAccepted) }
      }
    }
    self.commands = commands
    tokens = TokenWaiters(Self.tokens(of: generation), time: context, host: self)
    secrets.begin(generation, after: first)
    checkAccounts()
  }

  /// Makes `new` the current generation. `SecretWatcher` is not updated.
  package func adopt(_ new: Generation) {
    generation = new
    accounts.prune(to: new)
    updateJars()
    tokens?.update(to: Self.tokens(of: new))
  }

  /// Returns the tokens by grant index. Empty if no grant uses a token, as in most configurations.
  private static func tokens(of generation: Generation) -> [TokenSource?] {
    let keyring = generation.keyring
    return keyring.tokens.isEmpty ? [] : (0..<keyring.grantCount).map { keyring.token(ofGrant: $0) }
  }

  package func close() {
    secrets?.close()
    commands?.close()
    tokens?.close()
    tokenFileChecks.close()
    registries.close()
  }

  // MARK: on_change

  /// Reports the credentials whose account has changed. Call this after each change of a value.
  package func checkAccounts() {
    guard !generation.credentialsToCut.isEmpty else { return }
    for name in accounts.changes(in: generation, tokens) { onAccountChange?(name) }
  }

  // MARK: cookies

  /// Connects the cookie jars to the keyring of the current generation.
  private func updateJars() {
    let (keyring, tables) = (generation.keyring, generation.tables)
    if link == nil {
      jars.update(to: tables.jarKeys, mustLock: generation.settings.requireLockedMemory)
    }
    keyring.keepCookies(in: jars)
    guard !tables.jarCredentials.isEmpty else { return }
    // Even before this is done, a request with a changed value finds its jar empty.
    var remaining = Array(tables.jarCredentials)
    loop.runIncrementally { [weak self] hasTime in
      while self?.generation.keyring === keyring, let next = remaining.popLast() {
        keyring.keepCookies(of: next)
        if !hasTime() { return false }
      }
      return true
    }
  }

  /// Removes the cookies of each grant that includes a credential, and returns their number.
  @discardableResult
  package func removeCookies(of credential: String) -> Int {
    generation.snapshot.rules.grants.reduce(0) { count, grant in
      count + (grant.includes(credential) ? jars.forget(grant.name) : 0)
    }
  }

  // MARK: upstream pools

  package func pools(of credential: String) -> [UpstreamPool] {
    let names = Set(generation.snapshot.rules.grants.filter { $0.includes(credential) }.map(\.name))
    return generation.upstreamPools.filter { $0.context?.identity.grant.map(names.contains) == true }
  }

  /// Stops the reuse of a credential's connections after a login, because another person may have logged in (T25).
  func retireConnections(of credential: String) { for pool in pools(of: credential) { pool.invalidate() } }
}

/// A closure to run with a worker's providers, on the worker's thread.
package typealias ProvidersMessage = @Sendable (CredentialProviders) -> Void

/// Connects the providers of one worker with those of the first worker. Can be called on any thread. Messages run in
/// the order of sending.
package protocol ProvidersLink: Sendable {
  func postToFirstProviders(_ message: @escaping ProvidersMessage)
  /// Posts to the providers of the worker that this link belongs to, which is not the first worker.
  func postToProviders(_ message: @escaping ProvidersMessage)
}
