internal import Credentials
internal import EventLoop
internal import Gateway
internal import HTTP1
internal import Policy
internal import Providers
internal import Generations
internal import System

extension ClientSession {
  /// Passes the credential's new value, which the response sets as a cookie, to the token provider.
  func offerFreshCookie() {
    guard let slot else { return }
    let grant = currentGrant
    slot.machine.withExchange { exchange in
      exchange.removeFreshCookie { [worker, version = attempt.tokenVersion] cookie, bytes in
        guard let grant, let tokens = worker.providers.tokens else { return }
        var lifetime: UInt64?
        switch cookie.lifetime(now: Clock.now.seconds, of: bytes) {
        // Nothing to do: the upstream will reject the ended cookie.
        case .ended: return
        case .unknown: break
        case .seconds(let seconds): lifetime = min(seconds, 315_360_000) * 1_000
        }
        tokens.offer(
          bytes.extracting(cookie.value), lifetime: lifetime, after: version, ofGrant: grant)
      }
    }
  }

  /// Selects the cookie jar for the request (`cookies: jar`), unless the request is sent without its credential.
  /// - Parameter isAsked: whether the upstream has sent a challenge.
  func openCookieJar(forGrant grant: Int?, isAsked: Bool) {
    guard let grant, let routeContext, routeContext.keepsCookies, let origin = routeContext.jarOrigin,
      isAsked || !generation.snapshot.rules.grants[grant].authRetry.requiresChallenge
    else {
      if attempt.jarTicket != nil { attempt.jarTicket = nil }
      return
    }
    attempt.jarTicket = worker.generation.keyring.jarTicket(
      ofGrant: grant, to: origin, holder: worker.providers.tokens?.status(ofGrant: grant)?.holder ?? 0)
  }

  /// Stores cookies of the response in the jar, before the client receives the response.
  func keepCookies() {
    guard let slot else { return }
    let jars = worker.sharedState.jars
    let now = Clock.now.seconds
    slot.machine.withExchange { exchange in
      exchange.removeJarCookies { [jarTicket = attempt.jarTicket] cookie, bytes in
        guard let jarTicket else { return }
        var lifetime: UInt64?
        switch cookie.cookie.lifetime(now: now, of: bytes) {
        case .ended: lifetime = 0
        case .unknown: break
        case .seconds(let seconds): lifetime = seconds
        }
        jars.store(
          name: bytes.extracting(cookie.name), value: bytes.extracting(cookie.value), path: cookie.path,
          lifetime: lifetime, with: jarTicket)
      }
    }
  }
}
