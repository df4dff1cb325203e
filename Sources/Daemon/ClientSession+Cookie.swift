internal import EventLoop
internal import Gateway
internal import HTTP1
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
}
