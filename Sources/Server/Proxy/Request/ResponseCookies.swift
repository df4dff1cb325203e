internal import Credentials
internal import EventLoop
internal import Gateway
internal import HTTP1
internal import Policy
internal import Providers
internal import Generations
internal import System

/// The cookies of a response that bearerd keeps: the credential's new value, and the cookies of a jar.
struct ResponseCookies {
  private let run: RequestRun

  init(_ run: RequestRun) { self.run = run }

  private var worker: Worker { run.worker }

  /// Passes the credential's new value, which the response sets as a cookie, to the token provider.
  func offerFresh() {
    guard let grant = run.currentGrant, let tokens = worker.providers.tokens else {
      return run.withExchange { $0.removeFreshCookie { _, _ in } }
    }
    let version = run.attempt.tokenVersion
    run.withExchange { exchange in
      exchange.removeFreshCookie { cookie, bytes in
        switch cookie.lifetime(now: Clock.now.seconds, of: bytes) {
        // Nothing to do: the upstream will reject the ended cookie.
        case .ended: break
        case .unknown: tokens.offer(bytes.extracting(cookie.value), lifetime: nil, after: version, ofGrant: grant)
        case .seconds(let seconds):
          tokens.offer(
            bytes.extracting(cookie.value), lifetime: min(seconds, 315_360_000) * 1_000, after: version, ofGrant: grant)
        }
      }
    }
  }

  /// Selects the cookie jar for the request (`cookies: jar`), unless the request is sent without its credential.
  /// - Parameter isAsked: whether the upstream has sent a challenge.
  func openJar(forGrant grant: Int?, isAsked: Bool) {
    guard let grant, let routeContext = run.routeContext, routeContext.keepsCookies,
      let origin = routeContext.jarOrigin,
      isAsked || !run.generation.snapshot.rules.grants[grant].authRetry.requiresChallenge
    else {
      if run.attempt.jarTicket != nil { run.attempt.jarTicket = nil }
      return
    }
    run.attempt.jarTicket = worker.generation.keyring.jarTicket(
      ofGrant: grant, to: origin, holder: worker.providers.tokens?.status(ofGrant: grant)?.holder ?? 0)
  }

  /// Stores cookies of the response in the jar, before the client receives the response.
  func keep() {
    let (jars, ticket, now) = (worker.sharedState.jars, run.attempt.jarTicket, Clock.now.seconds)
    run.withExchange { exchange in
      exchange.removeJarCookies { cookie, bytes in
        guard let ticket else { return }
        let lifetime: UInt64? =
          switch cookie.cookie.lifetime(now: now, of: bytes) {
          case .ended: 0
          case .unknown: nil
          case .seconds(let seconds): seconds
          }
        jars.store(
          name: bytes.extracting(cookie.name), value: bytes.extracting(cookie.value), path: cookie.path,
          lifetime: lifetime, with: ticket)
      }
    }
  }
}
