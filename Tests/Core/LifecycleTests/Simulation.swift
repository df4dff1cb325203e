import Gateway
import Policy
@testable import Lifecycle

/// An authorization server, a disk, an upstream and clients around one `Renewal`, with a simulated clock. Collects the
/// rules that the renewal violates.
struct Simulation {
  private let script: Script
  private let crashAt: Int?
  private var random: UInt64
  private(set) var now: UInt64 = 0
  /// The next event is the last element.
  private var queue: [(at: UInt64, order: Int, event: Event)] = []
  private var order = 0
  private(set) var steps = 0

  // The server. The previous refresh token stays valid until the newest is used, because a response could be lost.
  private var newest = 1
  private var previous: Int?
  private var lastRefresh = 1
  private var access: [AccessToken] = []

  // The disk.
  private var disk: Int? = 1

  /// The refresh token of a login that is not on disk yet.
  private var pendingLogin: Int?

  // The state of the process, which a crash deletes.
  private var life = 0
  private var renewal: Renewal
  private var tokens: [UInt64: Int] = [:]
  private var refresh: Int?
  private var waiting: [(client: Int, replay: Bool, rejected: UInt64?)] = []
  private var arrived: [UInt64: (token: Int, refresh: Int)] = [:]
  private var asking: Set<UInt64> = []
  /// The breaker of the credential. In this simulation its state ends with the process.
  private var breaker = CredentialBreaker()
  private static let suspension = {
    var suspension = Suspension()
    (suspension.after, suspension.time) = (3, 60_000)
    return suspension
  }()

  private(set) var violations: [String] = []
  private(set) var outcomes: [Int: String] = [:]
  private(set) var asks = 0
  private(set) var loginNotices = 0

  /// - Parameter crashAt: the step before which the process is killed.
  init(_ script: Script, seed: UInt64, crashAt: Int?) {
    self.script = script
    self.crashAt = crashAt
    random = seed
    renewal = Renewal(settings: RenewalSettings(), needsLogin: false)
    refresh = disk
  }

  static let end: UInt64 = 300_000
  /// The time after which no script has faults.
  static let calm: UInt64 = 200_000

  mutating func play() {
    var client = 0
    var at: UInt64 = 0
    while at < Simulation.end {
      at += chance() % 5_000
      if let sleeps = script.sleeps, sleeps.contains(at) { continue }
      schedule(.request(client, replay: false), at: at)
      client += 1
    }
    for at in script.revokesAccess { schedule(.revokeAccess, at: at) }
    if let at = script.revokesRefresh { schedule(.revokeRefresh, at: at) }
    for at in script.secretChanges { schedule(.secretChange, at: at) }
    if let at = script.replacesRefresh { schedule(.replaceRefresh, at: at) }
    if let at = script.logout { schedule(.logout, at: at) }
    if let at = script.login { schedule(.login, at: at) }
    while let next = queue.popLast() {
      now = max(now, next.at)
      if let sleeps = script.sleeps, sleeps.contains(now) { now = sleeps.upperBound }
      if steps == crashAt { crash() }
      steps += 1
      handle(next.event)
      if !waiting.isEmpty, !renewal.isRenewing { violations.append("at \(now): \(waiting.count) wait for nothing") }
    }
    if !waiting.isEmpty { violations.append("\(waiting.count) requests wait forever") }
    if outcomes.count != client { violations.append("\(client - outcomes.count) requests have no outcome") }
  }

  /// Whether the last requests succeeded. A crash may have closed one of them.
  func hasRecovered(clients: Int = 5) -> Bool {
    outcomes.sorted { $0.key < $1.key }.suffix(clients).allSatisfy { ["200", "closed"].contains($0.value) }
  }

  // MARK: -

  private mutating func chance() -> UInt64 {
    random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return (random >> 33) ^ random
  }

  private mutating func schedule(_ event: Event, at: UInt64) {
    order += 1
    var (low, high) = (0, queue.count)
    while low < high {
      let middle = (low + high) / 2
      if queue[middle].at > at { low = middle + 1 } else { high = middle }
    }
    queue.insert((at, order, event), at: low)
  }

  private mutating func crash() {
    for (client, _, _) in waiting { finish(client, "closed") }
    waiting = []
    life += 1
    // The user repeats a login that the crash has interrupted.
    if let login = pendingLogin, login != disk { schedule(.login, at: now + 1_000) }
    pendingLogin = nil
    tokens = [:]
    arrived = [:]
    asking = []
    breaker = CredentialBreaker()
    refresh = disk
    renewal = Renewal(settings: RenewalSettings(), needsLogin: disk == nil)
  }

  private mutating func finish(_ client: Int, _ what: String) {
    if let earlier = outcomes[client] { violations.append("request \(client) has two outcomes: \(earlier), \(what)") }
    outcomes[client] = what
  }

  private mutating func handle(_ event: Event) {
    switch event {
    case .request(let client, let replay): ask(client, replay, nil)
    case .serverReceives(let number, let refresh, let life): serve(number, refresh, life)
    case .response(let number, let what, let life): if life == self.life { receive(number, what) }
    case .write(let number, let refresh, let life): if life == self.life { written(number, refresh) }
    case .tick(let life): if life == self.life { act(renewal.tick(at: now)) }
    case .revokeAccess: for index in access.indices { access[index].isRevoked = true }
    case .revokeRefresh:
      (newest, previous) = (0, nil)
    case .secretChange:
      renewal.changed()
      renewIfNeeded()
    case .replaceRefresh:
      lastRefresh += 1
      (newest, previous) = (lastRefresh, nil)
      // The file with the first refresh token is replaced, so a stored token no longer counts.
      (refresh, disk) = (lastRefresh, lastRefresh)
      renewal.changed(brings: true)
      renewIfNeeded()
    case .logout:
      disk = nil
      refresh = nil
      act(renewal.logout())
    case .login:
      lastRefresh += 1
      (newest, previous) = (lastRefresh, nil)
      access.append(AccessToken(expiresAt: now + (script.lifetime ?? 600_000)))
      pendingLogin = lastRefresh
      let granted = Granted(lifetime: script.lifetime, hasToBeStored: true)
      let actions = renewal.loggedIn(granted, since: now, chance: chance())
      if let number = actions.store { arrived[number] = (access.count - 1, lastRefresh) }
      act(actions)
    }
  }

  // MARK: the process

  /// Requests a token after a change, without a client's request.
  private mutating func renewIfNeeded() { act(renewal.request(at: now).1) }

  private mutating func ask(_ client: Int, _ replay: Bool, _ rejected: UInt64?) {
    let (verdict, actions) = rejected.map { renewal.rejected($0, at: now) } ?? renewal.request(at: now)
    if case .wait = verdict { waiting.append((client, replay, rejected)) }
    act(actions)
    switch verdict {
    case .wait: return
    case .refused(let reason): finish(client, rejected == nil ? "503 \(reason)" : "401")
    case .use(let generation): send(client, replay: replay || rejected != nil, generation)
    }
  }

  private mutating func send(_ client: Int, replay: Bool, _ generation: UInt64) {
    guard let index = tokens[generation] else {
      violations.append("generation \(generation) is not known")
      return finish(client, "500")
    }
    let token = access[index]
    if token.expiresAt <= now { violations.append("at \(now): an expired token was sent") }
    if token.isKnownDead { violations.append("at \(now): a token that the upstream had rejected was sent") }
    _ = breaker.update(secretVersion: generation)
    guard let permission = breaker.acquirePermission(Simulation.suspension, at: now) else {
      return finish(client, "503 suspended")
    }
    let rejects =
      token.isRevoked || script.rejectsAll?.contains(now) == true || script.deadTokens.contains(index)
    guard rejects else {
      _ = breaker.recordVerdict(.accepted, for: permission, Simulation.suspension, at: now)
      return finish(client, "200")
    }
    access[index].isKnownDead = true
    if replay {
      _ = breaker.recordVerdict(.rejected, for: permission, Simulation.suspension, at: now)
      // The next request needs another token.
      act(renewal.rejected(generation, at: now).1)
      return finish(client, "401")
    }
    breaker.releasePermission(permission, at: now)
    ask(client, true, generation)
  }

  private mutating func act(_ actions: Renewal.Actions) {
    if let number = actions.requestToken {
      asks += 1
      if !asking.isEmpty { violations.append("at \(now): two renewals at once") }
      asking.insert(number)
      guard let refresh else {
        violations.append("at \(now): asked without a refresh token")
        return
      }
      schedule(.serverReceives(number: number, refresh: refresh, life: life), at: now + script.responseDelay / 2)
    }
    if let number = actions.store, let (_, refresh) = arrived[number] {
      schedule(.write(number: number, refresh: refresh, life: life), at: now + script.storeDelay)
    }
    if let generation = actions.publish, let number = arrived.keys.max(), let (token, newer) = arrived[number] {
      if newer != disk { violations.append("at \(now): a token is used before its refresh token is on disk") }
      tokens[generation] = token
      refresh = newer
      arrived = [:]
    }
    if actions.reportsLoginRequired { loginNotices += 1 }
    if actions.releases {
      let released = waiting
      waiting = []
      for (client, replay, rejected) in released { ask(client, replay, rejected) }
    }
    if let deadline = renewal.deadline { schedule(.tick(life: life), at: max(now, deadline)) }
  }

  private mutating func receive(_ number: UInt64, _ what: TokenResponse) {
    asking.remove(number)
    switch what {
    case .token(let token, let newer):
      let isNew = newer != disk
      if renewal.isRenewing { arrived[number] = (token, newer) }
      let isEnded = access[token].expiresAt <= now
      let granted = Granted(lifetime: isEnded ? 0 : script.lifetime, hasToBeStored: isNew)
      let actions = renewal.granted(granted, number: number, at: now, chance: chance())
      if actions.isDiscarded { arrived[number] = nil }
      if actions.reportsExpiredGrant { keepRefresh(of: number) }
      act(actions)
    case .unavailable(let retryAfter):
      act(renewal.failed(.transient(retryAfter: retryAfter), number: number, at: now, chance: chance()))
    case .nothing: act(renewal.failed(.transient(retryAfter: nil), number: number, at: now, chance: chance()))
    case .invalidClient:
      let pause = RenewalSettings().backOff.longest
      act(renewal.failed(.transient(retryAfter: pause), number: number, at: now, chance: chance()))
    case .invalidGrant: act(renewal.failed(.final, number: number, at: now, chance: chance()))
    }
  }

  /// Keeps the refresh token that came with an unusable access token.
  private mutating func keepRefresh(of number: UInt64) {
    guard let (_, newer) = arrived.removeValue(forKey: number) else { return }
    if newer != disk { violations.append("at \(now): a refresh token was not kept") }
    refresh = newer
  }

  private mutating func written(_ number: UInt64, _ refresh: Int) {
    if script.diskFails?.contains(now) == true {
      return act(renewal.storingFailed(number: number, at: now, chance: chance()))
    }
    guard arrived[number] != nil, !renewal.needsLogin || renewal.isRenewing else { return }
    disk = refresh
    let actions = renewal.stored(number: number, at: now, chance: chance())
    if actions.reportsExpiredGrant { keepRefresh(of: number) }
    act(actions)
  }

  // MARK: the server

  private mutating func serve(_ number: UInt64, _ refresh: Int, _ life: Int) {
    let back = now + script.responseDelay / 2
    if script.down?.contains(now) == true {
      return schedule(.response(number: number, .unavailable(script.retryAfter), life: life), at: back)
    }
    if script.refusesClient?.contains(now) == true {
      return schedule(.response(number: number, .invalidClient, life: life), at: back)
    }
    guard refresh == newest || refresh == previous else {
      return schedule(.response(number: number, .invalidGrant, life: life), at: back)
    }
    if refresh == newest { previous = nil }
    if script.rotates {
      lastRefresh += 1
      (previous, newest) = (refresh, lastRefresh)
    }
    let isEnded = script.grantsEnded?.contains(now) == true
    access.append(AccessToken(expiresAt: isEnded ? now : now + (script.lifetime ?? 600_000)))
    let token = TokenResponse.token(access.count - 1, refresh: newest)
    let isLost = script.losesResponses?.contains(now) == true
    schedule(.response(number: number, isLost ? .nothing : token, life: life), at: isLost ? back + 10_000 : back)
  }
}
