package import Gateway
package import Policy
internal import Primitives

extension DaemonStatus.Service {
  /// - Parameters:
  ///   - version: the version of the last connection to the upstream. `nil` if there was none.
  ///   - time: converts a time of the event loop's clock to seconds since 1970.
  package init(
    _ service: Service, at path: String, listener: String, version: NegotiatedVersion?, _ counts: ServiceCounts,
    rates: [DaemonStatus.Rate], time: (UInt64) -> Int
  ) {
    self.init(
      name: service.name, at: path, listener: listener, upstream: service.upstream.origin.description,
      httpVersion: version?.applicationProtocol.version, httpCause: version?.cause.rawValue,
      pins: service.trust.pinning.pins.count, pinMode: "\(service.trust.pinning.mode)", requests: counts[.requests],
      refusals: counts[.refusals], retries: counts[.retries],
      lastStatus: counts.lastStatus == 0 ? nil : counts.lastStatus, lastSuccess: counts.lastSuccess.map(time),
      lastFailure: counts.lastFailure.map(time), responseHead: counts.responseHead.counts, rates: rates,
      matchedPin: counts.upstream?.pin?.description,
      certificateExpires: counts.upstream.map { Int(clamping: $0.ends) },
      probe: counts.probe.map { .init(at: Int(clamping: $0.at), failure: $0.refusal?.row.code.description) })
  }
}

extension DaemonStatus.Rate {
  /// - Parameter now: the time of the event loop's clock, in milliseconds.
  package init(_ entry: RateLimits.Entry, at now: UInt64) {
    self.init(
      rate: entry.limiter.rate.description, rule: entry.rule.map { $0 + 1 },
      callers: entry.limiter.usages(at: now).map { usage in
        DaemonStatus.Caller(
          uid: usage.caller.uid.map { Int($0) }, client: usage.caller.client, left: usage.left,
          milliseconds: usage.wait)
      })
  }
}

extension DaemonStatus.Refused {
  package init(_ entry: RecentRefusals.Entry, time: (UInt64) -> Int) {
    self.init(
      at: time(entry.time), code: entry.code.row.code.description, service: entry.service.isEmpty ? nil : entry.service)
  }
}
