internal import EventLoop
internal import Gateway
internal import Generations
internal import Policy
internal import Settings

// How long a request may wait for each event.
extension RequestRun {
  /// Returns the timeout in milliseconds, or `nil` if there is none.
  func time(of deadline: Deadline) -> UInt64? {
    switch deadline {
    case .head: worker.limits.clientHead
    case .none: nil
    case .retry: retryWait
    // `nil` means `none` in the service's `timeouts`. `??` would replace it with the default.
    case .responseHead: if let routeContext { routeContext.timeouts.responseHead } else { worker.limits.clientIdle }
    case .silence: routeContext?.timeouts.bodySilence ?? defaultSilence
    case .upgraded: if let routeContext { routeContext.timeouts.upgraded } else { worker.limits.clientIdle }
    // Only a connection without a request has these timeouts.
    case .idle, .linger: nil
    }
  }

  /// How long a client over HTTP/2 may read nothing of a response that has ended, in milliseconds. The largest value if there is no
  /// limit, and `nil` for the default.
  var readerTimeout: UInt64? {
    guard let routeContext else { return nil }
    // Both sides of a gRPC call may be silent, also at its end.
    return withExchange { $0.isGRPC } ? routeContext.timeouts.upgraded ?? .max : routeContext.timeouts.bodySilence
  }

  /// The timeout in milliseconds for a silent client (T54), for services that set none. `nil` while the client need not
  /// act.
  private var defaultSilence: UInt64? {
    if routeContext == nil { return worker.limits.clientIdle }
    return awaitsRequestBody && worker.limits.clientBodyRate > 0 ? RequestRun.requestSilence : nil
  }

  /// Default timeout in milliseconds for a client that pauses within its request body.
  private static let requestSilence: UInt64 = 600_000

  /// The milliseconds until the next attempt.
  private var retryWait: UInt64 {
    let (due, now) = (withExchange { $0.retryDue }, worker.loop.now)
    return due > now ? due - now : 0
  }
}
