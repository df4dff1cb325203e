internal import Configuration
internal import Credentials
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
  /// The places for which these rules want a jar.
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
