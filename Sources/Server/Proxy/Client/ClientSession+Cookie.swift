internal import Credentials
internal import EventLoop
internal import Gateway
internal import HTTP1
internal import Policy
internal import System

extension ClientSession {
  /// An upstream has set the credential's cookie anew: from here it goes into locked memory, and to nobody else.
  func offerFreshCookie() {
    guard let desk else { return }
    let grant = generation === worker.generation ? standing.grant : nil
    desk.machine.withExchange { exchange in
      exchange.takeFreshCookie { [worker, tokenGeneration] cookie, bytes in
        guard let grant, let tokens = worker.tokens else { return }
        var lifetime: UInt64?
        switch cookie.lifetime(now: Clock.now.seconds, of: bytes) {
        // The upstream will say so once more when it is used.
        case .ended: return
        case .unknown: break
        case .seconds(let seconds): lifetime = min(seconds, 315_360_000) * 1_000
        }
        tokens.offer(
          bytes.extracting(cookie.value), lifetime: lifetime, after: tokenGeneration, ofGrant: grant)
      }
    }
  }

  /// `cookies: jar`: the request goes out with what the jar has for it now.
  /// A request that goes out bare, before the upstream has asked for its credential, has none.
  func takeCookiePass(forGrant grant: Int?, isAsked: Bool) {
    guard let grant, let way, way.keepsCookies, let origin = way.jarOrigin,
      isAsked || !generation.snapshot.rules.grants[grant].secondTry.waitsToBeAsked
    else {
      if cookiePass != nil { cookiePass = nil }
      return
    }
    cookiePass = worker.generation.keyring.cookiePass(
      ofGrant: grant, to: origin, holder: worker.tokens?.standing(ofGrant: grant)?.holder ?? 0)
  }

  /// The answer has cookies for the jar. They are in it before anybody sees the answer.
  func keepCookies() {
    guard let desk else { return }
    let jars = worker.commons.jars
    let now = Clock.now.seconds
    desk.machine.withExchange { exchange in
      exchange.takeJarCookies { [cookiePass] cookie, bytes in
        guard let cookiePass else { return }
        var lifetime: UInt64?
        switch cookie.cookie.lifetime(now: now, of: bytes) {
        case .ended: lifetime = 0
        case .unknown: break
        case .seconds(let seconds): lifetime = seconds
        }
        jars.take(
          name: bytes.extracting(cookie.name), value: bytes.extracting(cookie.value), path: cookie.path,
          lifetime: lifetime, with: cookiePass)
      }
    }
  }
}
