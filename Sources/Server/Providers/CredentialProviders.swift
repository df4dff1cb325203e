internal import Configuration
package import Credentials
internal import EventLoop
internal import Gateway
internal import Log
internal import Policy
internal import Secrets
package import Setup
internal import TLS
package import Transport

/// The providers of one worker's credentials, which keep their values current: its generation, and what watches files, waits
/// for programs and for token endpoints.
package final class CredentialProviders {
  let context: WorkerContext
  // Other modules read what changes by getters: a stored property that they see costs a check of exclusive access at each use.
  private var current: Generation
  private var watch: SecretWatcher?
  private var commandWaits: CommandWaits?
  private var tokenWaiters: TokenWaiters?
  /// The credentials of a configuration that is to come; nil: none is being prepared.
  package var prepared: GenerationBuilder?
  /// Credentials that were logged out since the last reload began: it does not bring them back.
  package var loggedOutMeanwhile: Set<String> = []
  package private(set) lazy var registries = RegistryClient(providers: self)
  /// Called after each read of a file of a secret.
  var onSecretRead: ((SecretSource, _ loggedOut: Set<String>) -> Void)?
  let jars: CookieJars
  /// To the first worker's providers, which run programs and ask endpoints for all; nil: these are the first worker's.
  let link: (any ProvidersLink)?
  /// To the providers of all other workers, in the order of sending; the first worker's alone are asked for it.
  package var tellOthers: (@escaping ProvidersMessage) -> Void = { _ in }

  package init(context: WorkerContext, generation: Generation, jars: CookieJars, link: (any ProvidersLink)?) {
    self.context = context
    current = generation
    self.jars = jars
    self.link = link
    keepCookies()
  }

  var loop: Loop { context.loop }
  var deadlines: DeadlineQueue { context.deadlines }
  var log: EventLog { context.log }

  /// The configuration that is in use, with its keyring.
  package var generation: Generation { current }
  /// Reads files of secrets when they change, and once more where one is missing.
  package var secrets: SecretWatcher? { watch }
  /// Requests that wait for a secret that a program has yet to print.
  package var commands: CommandWaits? { commandWaits }
  /// Requests that wait for a token that an endpoint has yet to grant.
  package var tokens: TokenWaiters? { tokenWaiters }

  /// No file is being read and no token is in the way: a request that has a value of this credential goes out with it.
  package func isQuiet(forGrant index: Int, hasFiles: Bool) -> Bool {
    if tokenWaiters?.has(grant: index) == true { return false }
    return !hasFiles || watch?.isReading(forGrant: index) != true
  }

  /// Why no token of a credential can be had; nil: there is one, or the credential has none.
  package func tokenFailure(ofGrant index: Int) -> ConnectFailure? { tokenWaiters?.failure(ofGrant: index) }
  /// The number of a credential's token; 0: it has none.
  package func tokenVersion(ofGrant index: Int) -> UInt64 { tokenWaiters?.generation(ofGrant: index) ?? 0 }

  /// Goes on with the secrets that a start has found.
  package func begin(after first: InitialLoad) {
    let watch = SecretWatcher(providers: self, first: first)
    self.watch = watch
    let commands = CommandWaits(providers: self)
    if let link {
      commands.onVerdict = { value, isAccepted in
        link.postToFirstProviders { $0.commands?.onVerdict?(value, isAccepted) }
      }
    }
    commandWaits = commands
    tokenWaiters = TokenWaiters(providers: self)
    watch.begin(generation, after: first)
  }

  /// This generation is the current one from now on. What was prepared for it is over; `SecretWatcher` follows separately, once
  /// the requests under way have been decided anew.
  package func adopt(_ new: Generation) {
    current = new
    keepCookies()
    tokens?.follow(new)
  }

  package func close() {
    secrets?.close()
    commands?.close()
    tokens?.close()
    registries.close()
  }

  // MARK: cookies

  /// The current generation's jars, and those alone; and its keyring knows them. The first worker does the first for all.
  private func keepCookies() {
    let (keyring, tables) = (generation.keyring, generation.tables)
    if link == nil {
      jars.follow(tables.jarPlaces, mustLock: generation.settings.requireLockedMemory)
    }
    keyring.keepCookies(in: jars)
    guard !tables.jarCredentials.isEmpty else { return }
    // A request with another value finds its jar empty even before.
    var left = Array(tables.jarCredentials)
    loop.inPieces { [weak self] hasTime in
      while self?.generation.keyring === keyring, let next = left.popLast() {
        keyring.keepCookies(of: next)
        if !hasTime() { return false }
      }
      return true
    }
  }

  /// Forgets the cookies of a credential, alone or together with others. Returns how many there were.
  @discardableResult
  package func removeCookies(of credential: String) -> Int {
    generation.snapshot.rules.grants.reduce(0) { count, grant in
      count + (grant.includes(credential) ? jars.forget(grant.name) : 0)
    }
  }

  // MARK: upstream pools

  /// The pools whose connections carry a credential, alone or together with others.
  package func pools(of credential: String) -> [UpstreamPool] {
    let names = Set(generation.snapshot.rules.grants.filter { $0.includes(credential) }.map(\.name))
    return generation.upstreamPools.filter { $0.context?.identity.grant.map(names.contains) == true }
  }

  /// A login may be another person's than the one before: what was opened for the one serves the other no more (T25).
  func setApart(_ credential: String) { for pool in pools(of: credential) { pool.setApart() } }
}

/// Carried out on the thread of the worker whose providers it is given.
package typealias ProvidersMessage = @Sendable (CredentialProviders) -> Void

/// How the providers of a worker besides the first one reach the first one's, and are reached themselves, from any thread.
/// Messages are carried out in the order of sending.
package protocol ProvidersLink: Sendable {
  func postToFirstProviders(_ message: @escaping ProvidersMessage)
  /// To those that have this link.
  func postToProviders(_ message: @escaping ProvidersMessage)
}
