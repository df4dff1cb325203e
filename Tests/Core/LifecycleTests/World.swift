import Gateway
import Policy
import Lifecycle

/// An authorization server, a disk, an upstream and clients around one `Renewal`, with a clock of its own. It breaks no rule
/// itself, and says what rule was broken.
struct World {
  private let script: Script
  private let crashAt: Int?
  private var random: UInt64
  private(set) var now: UInt64 = 0
  /// The next one last.
  private var queue: [(at: UInt64, order: Int, event: Event)] = []
  private var order = 0
  private(set) var steps = 0

  // The server: the newest refresh token, and the one before it, which counts until the newest is used (as servers that expect
  // answers to get lost do).
  private var newest = 1
  private var previous: Int?
  private var lastRefresh = 1
  private var access: [AccessToken] = []
  private var takenAtOnce = 0

  // The disk.
  private var disk: Int? = 1

  /// The refresh token that a person got and that is not on disk yet.
  private var loginUnderWay: Int?

  // One life of the process: what a crash takes away.
  private var life = 0
  private var renewal: Renewal
  private var tokens: [UInt64: Int] = [:]
  private var refresh: Int?
  private var waiting: [(client: Int, replay: Bool, rejected: UInt64?)] = []
  private var arrived: [UInt64: (token: Int, refresh: Int)] = [:]
  private var asking: Set<UInt64> = []
  /// Between the token and the upstream; what it knows outlives no process here.
  private var breaker = CredentialBreaker()
  private static let suspension = {
    var suspension = Suspension()
    (suspension.after, suspension.time) = (3, 60_000)
    return suspension
  }()

  private(set) var broken: [String] = []
  private(set) var answered: [Int: String] = [:]
  private(set) var asks = 0
  private(set) var loginsTold = 0

  /// - Parameter crashAt: the step before which the process is killed.
  init(_ script: Script, seed: UInt64, crashAt: Int?) {
    self.script = script
    self.crashAt = crashAt
    random = seed
    renewal = Renewal(settings: RenewalSettings(), needsLogin: false)
    refresh = disk
  }

  static let end: UInt64 = 300_000
  /// After this time nothing goes wrong any more in any script.
  static let calm: UInt64 = 200_000

  mutating func play() {
    var client = 0
    var at: UInt64 = 0
    while at < World.end {
      at += chance() % 5_000
      if let sleeps = script.sleeps, sleeps.contains(at) { continue }
      schedule(.request(client, replay: false), at: at)
      client += 1
    }
    for at in script.revokesAccess { schedule(.revokeAccess, at: at) }
    if let at = script.revokesRefresh { schedule(.revokeRefresh, at: at) }
    for at in script.secretChanges { schedule(.secretChange, at: at) }
    if let at = script.places { schedule(.place, at: at) }
    if let at = script.logout { schedule(.logout, at: at) }
    if let at = script.login { schedule(.login, at: at) }
    while let next = queue.popLast() {
      now = max(now, next.at)
      if let sleeps = script.sleeps, sleeps.contains(now) { now = sleeps.upperBound }
      if steps == crashAt { crash() }
      steps += 1
      take(next.event)
      if !waiting.isEmpty, !renewal.isRenewing { broken.append("at \(now): \(waiting.count) wait for nothing") }
    }
    if !waiting.isEmpty { broken.append("\(waiting.count) requests wait for ever") }
    if answered.count != client { broken.append("\(client - answered.count) requests were never answered") }
  }

  /// Whether requests went out again once all was calm. A crash may have closed one.
  func worksInTheEnd(clients: Int = 5) -> Bool {
    answered.sorted { $0.key < $1.key }.suffix(clients).allSatisfy { ["200", "closed"].contains($0.value) }
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
    for (client, _, _) in waiting { answer(client, "closed") }
    waiting = []
    life += 1
    // Who was logging in is told that it failed, and does it again.
    if let login = loginUnderWay, login != disk { schedule(.login, at: now + 1_000) }
    loginUnderWay = nil
    tokens = [:]
    arrived = [:]
    asking = []
    breaker = CredentialBreaker()
    refresh = disk
    renewal = Renewal(settings: RenewalSettings(), needsLogin: disk == nil)
  }

  private mutating func answer(_ client: Int, _ what: String) {
    if let earlier = answered[client] { broken.append("request \(client) was answered twice: \(earlier), \(what)") }
    answered[client] = what
  }

  private mutating func take(_ event: Event) {
    switch event {
    case .request(let client, let replay): ask(client, replay, nil)
    case .serverTakes(let number, let refresh, let life): serve(number, refresh, life)
    case .answer(let number, let what, let life): if life == self.life { receive(number, what) }
    case .write(let number, let refresh, let life): if life == self.life { written(number, refresh) }
    case .tick(let life): if life == self.life { act(renewal.tick(at: now)) }
    case .revokeAccess: for index in access.indices { access[index].isRevoked = true }
    case .revokeRefresh:
      (newest, previous) = (0, nil)
    case .secretChange:
      renewal.changed()
      want()
    case .place:
      lastRefresh += 1
      (newest, previous) = (lastRefresh, nil)
      // The file of the first one: what is stored counts for another.
      (refresh, disk) = (lastRefresh, lastRefresh)
      renewal.changed(brings: true)
      want()
    case .logout:
      disk = nil
      refresh = nil
      act(renewal.logout())
    case .login:
      lastRefresh += 1
      (newest, previous) = (lastRefresh, nil)
      access.append(AccessToken(expiresAt: now + (script.lifetime ?? 600_000)))
      loginUnderWay = lastRefresh
      let granted = Granted(lifetime: script.lifetime, hasToBeStored: true)
      let actions = renewal.loggedIn(granted, since: now, chance: chance())
      if let number = actions.store { arrived[number] = (access.count - 1, lastRefresh) }
      act(actions)
    }
  }

  // MARK: the process

  /// What the keeper does when something has changed: nobody has to ask for it.
  private mutating func want() { act(renewal.request(at: now).1) }

  private mutating func ask(_ client: Int, _ replay: Bool, _ rejected: UInt64?) {
    let (verdict, actions) = rejected.map { renewal.rejected($0, at: now) } ?? renewal.request(at: now)
    // First comes what is to be done: it may release those who wait, and this one is not among them yet.
    if case .wait = verdict { waiting.append((client, replay, rejected)) }
    act(actions)
    switch verdict {
    case .wait: return
    case .refused(let reason): answer(client, rejected == nil ? "503 \(reason)" : "401")
    case .use(let generation): send(client, replay: replay || rejected != nil, generation)
    }
  }

  private mutating func send(_ client: Int, replay: Bool, _ generation: UInt64) {
    guard let index = tokens[generation] else {
      broken.append("generation \(generation) is not known")
      return answer(client, "500")
    }
    let token = access[index]
    if token.expiresAt <= now { broken.append("at \(now): an expired token went out") }
    if token.isCalledDead { broken.append("at \(now): a token went out that the upstream had called dead") }
    _ = breaker.follow(generation)
    guard let permission = breaker.acquirePermission(World.suspension, at: now) else {
      return answer(client, "503 suspended")
    }
    let rejects =
      token.isRevoked || script.rejectsAll?.contains(now) == true || script.deadTokens.contains(index)
    guard rejects else {
      _ = breaker.answered(.accepted, to: permission, World.suspension, at: now)
      return answer(client, "200")
    }
    access[index].isCalledDead = true
    if replay {
      _ = breaker.answered(.rejected, to: permission, World.suspension, at: now)
      // The next request has another one.
      act(renewal.rejected(generation, at: now).1)
      return answer(client, "401")
    }
    breaker.releasePermission(permission, at: now)
    ask(client, true, generation)
  }

  private mutating func act(_ actions: Renewal.Actions) {
    if let number = actions.ask {
      asks += 1
      if !asking.isEmpty { broken.append("at \(now): two renewals at once") }
      asking.insert(number)
      guard let refresh else {
        broken.append("at \(now): asked without a refresh token")
        return
      }
      schedule(.serverTakes(number: number, refresh: refresh, life: life), at: now + script.answersAfter / 2)
    }
    if let number = actions.store, let (_, refresh) = arrived[number] {
      schedule(.write(number: number, refresh: refresh, life: life), at: now + script.storesAfter)
    }
    if let generation = actions.publish, let number = arrived.keys.max(), let (token, newer) = arrived[number] {
      if newer != disk { broken.append("at \(now): a token is used before its refresh token is on disk") }
      tokens[generation] = token
      refresh = newer
      arrived = [:]
    }
    if actions.tellsLoginRequired { loginsTold += 1 }
    if actions.releases {
      let released = waiting
      waiting = []
      for (client, replay, rejected) in released { ask(client, replay, rejected) }
    }
    if let deadline = renewal.deadline { schedule(.tick(life: life), at: max(now, deadline)) }
  }

  private mutating func receive(_ number: UInt64, _ what: Answer) {
    asking.remove(number)
    switch what {
    case .token(let token, let newer):
      let isNew = newer != disk
      if renewal.isRenewing { arrived[number] = (token, newer) }
      let isEnded = access[token].expiresAt <= now
      let granted = Granted(lifetime: isEnded ? 0 : script.lifetime, hasToBeStored: isNew)
      let actions = renewal.granted(granted, number: number, at: now, chance: chance())
      if actions.isDiscarded { arrived[number] = nil }
      if actions.tellsEnded { keepRefresh(of: number) }
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

  /// The token is of no use, and what came with it is the newest.
  private mutating func keepRefresh(of number: UInt64) {
    guard let (_, newer) = arrived.removeValue(forKey: number) else { return }
    if newer != disk { broken.append("at \(now): a refresh token was not kept") }
    refresh = newer
  }

  private mutating func written(_ number: UInt64, _ refresh: Int) {
    if script.diskFails?.contains(now) == true {
      return act(renewal.storingFailed(number: number, at: now, chance: chance()))
    }
    guard arrived[number] != nil, !renewal.isLoginRequired || renewal.isRenewing else { return }
    disk = refresh
    let actions = renewal.stored(number: number, at: now, chance: chance())
    if actions.tellsEnded { keepRefresh(of: number) }
    act(actions)
  }

  // MARK: the server

  private mutating func serve(_ number: UInt64, _ refresh: Int, _ life: Int) {
    let back = now + script.answersAfter / 2
    if script.down?.contains(now) == true {
      return schedule(.answer(number: number, .unavailable(script.retryAfter), life: life), at: back)
    }
    if script.refusesClient?.contains(now) == true {
      return schedule(.answer(number: number, .invalidClient, life: life), at: back)
    }
    guard refresh == newest || refresh == previous else {
      return schedule(.answer(number: number, .invalidGrant, life: life), at: back)
    }
    if refresh == newest { previous = nil }
    if script.rotates {
      lastRefresh += 1
      (previous, newest) = (refresh, lastRefresh)
    }
    let isEnded = script.grantsEnded?.contains(now) == true
    access.append(AccessToken(expiresAt: isEnded ? now : now + (script.lifetime ?? 600_000)))
    let token = Answer.token(access.count - 1, refresh: newest)
    let isLost = script.losesAnswers?.contains(now) == true
    schedule(.answer(number: number, isLost ? .nothing : token, life: life), at: isLost ? back + 10_000 : back)
  }
}
