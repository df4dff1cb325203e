internal import Configuration
internal import Credentials
internal import EventLoop
internal import Gateway
internal import Policy

/// `cookies: jar`.
extension Generation {
  /// Whether some service keeps a credential's cookies of this upstream: sessions are shared with services that do not.
  func hasJar(_ grant: Grant, _ upstream: Upstream) -> Bool {
    tables.jarPlaces.contains(CookieJars.Place(credential: grant.name, origin: upstream.origin))
  }

  /// nil: its requests have none.
  func jarOrigin(of route: Route) -> Origin? {
    snapshot.keepsCookies(of: route) ? snapshot.rules.services[route.service].upstream.origin : nil
  }

}

extension CookieJars.Place {
  /// Where these rules want a jar.
  static func all(for rules: RuleSet) -> Set<CookieJars.Place> {
    var places: Set<CookieJars.Place> = []
    for service in rules.services where service.headers.cookies == .jar {
      let choices =
        service.rules.map { rules in
          rules.compactMap { if case .forward(let choice) = $0.action { choice } else { nil } }
        } ?? [service.credential]
      for case .inject(let index) in choices {
        places.insert(
          CookieJars.Place(credential: rules.grants[index].name, origin: service.upstream.origin))
      }
    }
    return places
  }
}

extension Worker {
  /// The current generation's jars, and those alone; and its keyring knows them. The first worker does the first for all.
  func keepCookies() {
    let (keyring, tables) = (generation.keyring, generation.tables)
    if link == nil {
      sharedState.jars.follow(tables.jarPlaces, mustLock: generation.settings.requireLockedMemory)
    }
    keyring.keepCookies(in: sharedState.jars)
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

  /// Those of a credential, alone or together with others. Returns how many there were.
  @discardableResult
  func forgetCookies(of credential: String) -> Int {
    generation.snapshot.rules.grants.reduce(0) { count, grant in
      count + (grant.includes(credential) ? sharedState.jars.forget(grant.name) : 0)
    }
  }
}
