internal import Credentials
internal import Gateway
internal import Policy

extension Generation {
  /// The origin whose cookies are kept for this route. `nil` if the route has no cookie jar.
  func jarOrigin(of route: Route) -> Origin? {
    snapshot.keepsCookies(of: route) ? snapshot.rules.services[route.service].upstream.origin : nil
  }
}

extension CookieJars.Key {
  /// Returns a key for each credential and origin for which these rules keep a cookie jar.
  static func all(for rules: RuleSet) -> Set<CookieJars.Key> {
    var keys: Set<CookieJars.Key> = []
    for service in rules.services where service.options.cookies == .jar {
      for index in service.usedGrants {
        keys.insert(CookieJars.Key(credential: rules.grants[index].name, origin: service.upstream.origin))
      }
    }
    return keys
  }
}
