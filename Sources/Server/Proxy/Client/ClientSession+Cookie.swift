internal import Credentials
internal import EventLoop
internal import Gateway
internal import HTTP1
internal import Policy
internal import Providers
internal import Setup
internal import System

extension ClientSession {
  /// An upstream has set the credential's cookie anew: from here it goes into locked memory, and nowhere else.
  func offerFreshCookie() {
    guard let slot else { return }
    let grant = currentGrant
    slot.machine.withExchange { exchange in
      exchange.removeFreshCookie { [worker, version = attempt.tokenVersion] cookie, bytes in
        guard let grant, let tokens = worker.providers.tokens else { return }
        var lifetime: UInt64?
        switch cookie.lifetime(now: Clock.now.seconds, of: bytes) {
        // The upstream will say so once more when it is used.
        case .ended: return
        case .unknown: break
        case .seconds(let seconds): lifetime = min(seconds, 315_360_000) * 1_000
        }
        tokens.offer(
          bytes.extracting(cookie.value), lifetime: lifetime, after: version, ofGrant: grant)
      }
    }
  }

  /// `cookies: jar`: the request goes out with what the jar has for it now.
  /// A request that goes out bare, before the upstream has asked for its credential, has none.
  func openCookieJar(forGrant grant: Int?, isAsked: Bool) {
    guard let grant, let routeContext, routeContext.keepsCookies, let origin = routeContext.jarOrigin,
      isAsked || !generation.snapshot.rules.grants[grant].authRetry.waitsToBeAsked
    else {
      if attempt.jarTicket != nil { attempt.jarTicket = nil }
      return
    }
    attempt.jarTicket = worker.generation.keyring.jarTicket(
      ofGrant: grant, to: origin, holder: worker.providers.tokens?.standing(ofGrant: grant)?.holder ?? 0)
  }

  /// The answer has cookies for the jar. They are in it before anybody sees the answer.
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
        jars.take(
          name: bytes.extracting(cookie.name), value: bytes.extracting(cookie.value), path: cookie.path,
          lifetime: lifetime, with: jarTicket)
      }
    }
  }
}
