package import Policy
package import Primitives

/// The counters of one service.
package final class ServiceTally {
  /// The service's name. Empty for requests without a service.
  package let name: String
  package private(set) var counts = ServiceCounts()

  package init(name: String) { self.name = name }

  // In this module, because another module would copy the counters to change them.

  func addRows(rules: Int) { counts.addRows(rules: rules) }
  @inline(__always)
  func count(_ record: borrowing AccessRecord, rule: Int?, responseHead: UInt64?, at time: UInt64) {
    counts.count(record, rule: rule, responseHead: responseHead, at: time)
  }
  func count(refusal code: RefusalCode) { counts.count(refusal: code) }
  package func recordConnect(microseconds: UInt64) { counts.connect.observe(microseconds: microseconds) }

  package func recordHandshake(microseconds: UInt64, isResumed: Bool) {
    counts.handshake.observe(microseconds: microseconds)
    count(isResumed ? .resumedHandshakes : .fullHandshakes)
  }

  /// Records what a TLS handshake showed. Returns `true` if the upstream's certificate or the matching pin has changed
  /// since the last call.
  package func record(_ upstream: UpstreamCertificate) -> Bool {
    defer { counts.upstream = upstream }
    guard let last = counts.upstream else { return true }
    return last.ends != upstream.ends || last.pin != upstream.pin
  }

  /// Records a probe. Returns `true` if its outcome differs from the last one, or if it is the first and failed.
  package func record(_ probe: UpstreamProbe) -> Bool {
    defer { counts.probe = probe }
    return counts.probe?.refusal != probe.refusal
  }

  package func count(_ counter: ServiceCounter) { counts[counter] &+= 1 }
}

/// The counters of a service that are plain numbers. A new counter also needs a row in `Metric.all`.
package enum ServiceCounter: Int, CaseIterable {
  case requests, refusals
  /// Bytes of request and response bodies.
  case bytesUp, bytesDown
  case retries, redactions
  case fullHandshakes, resumedHandshakes
  case pinsMatched, pinsMismatched, pinsReported
  case upstreamRetries
  /// Requests by protocol of the client, then by protocol of the upstream. `Local` requests were not sent to the upstream.
  case http1Local, http1OverHTTP1, http1OverHTTP2
  case http2Local, http2OverHTTP1, http2OverHTTP2
  /// Opened connections to upstreams.
  case connectionsHTTP1, connectionsHTTP2
  /// HTTP/2 streams that the upstream did not process (REFUSED_STREAM, or GOAWAY), or that it requires over HTTP/1.1.
  case streamsRefused, streamsRequiringHTTP1
  case goAways

  /// The counter of requests with these protocols.
  /// - Parameter upstream: `nil` if the request was not sent.
  @inline(__always)
  fileprivate static func index(_ client: ApplicationProtocol, _ upstream: ApplicationProtocol?) -> Int {
    let first = if case .http2 = client { http2Local.rawValue } else { http1Local.rawValue }
    return switch upstream {
    case nil: first
    case .http1: first &+ 1
    case .http2: first &+ 2
    }
  }
}

/// What the last TLS handshake showed about an upstream.
package struct UpstreamCertificate: Sendable, Equatable {
  /// The time of the handshake, and the validity of the upstream's own certificate. In seconds since 1970.
  package let seenAt: Int64, begins: Int64, ends: Int64
  /// The pin that matched; `nil` if there are no pins or none matched.
  package let pin: Pin?

  package init(seenAt: Int64, begins: Int64, ends: Int64, pin: Pin?) {
    (self.seenAt, self.begins, self.ends, self.pin) = (seenAt, begins, ends, pin)
  }
}

/// The last TLS connection to an upstream without a request.
package struct UpstreamProbe: Sendable, Equatable {
  /// Seconds since 1970.
  package let at: Int64
  /// `nil` if the probe succeeded.
  package let refusal: RefusalCode?

  package init(at: Int64, refusal: RefusalCode?) { (self.at, self.refusal) = (at, refusal) }
}

/// The values of a service's counters.
package struct ServiceCounts: Sendable {
  /// Completed exchanges by rule, then by status class (`1xx` first). The first row is for exchanges without a rule.
  private var byRule: [UInt64] = []
  private var byCode = [UInt64](repeating: 0, count: RefusalCode.allCases.count)

  /// Has room for more counters than there are.
  private var counters = InlineArray<24, UInt64>(repeating: 0)

  package fileprivate(set) var connect = Histogram()
  package fileprivate(set) var handshake = Histogram()
  package private(set) var responseHead = Histogram()

  /// Status of the last completed exchange. 0 if there was none.
  package private(set) var lastStatus = 0
  private var lastAt: UInt64 = 0
  /// Time of the last complete response below 500 that does not reject the credential, in milliseconds of the loop's
  /// clock. `nil` if there was none.
  package private(set) var lastSuccess: UInt64?
  package private(set) var lastFailure: UInt64?

  /// `nil` before the first TLS handshake.
  package fileprivate(set) var upstream: UpstreamCertificate?
  /// `nil` before the first probe.
  package fileprivate(set) var probe: UpstreamProbe?

  package static let statusClasses = 5

  package init() {}

  package fileprivate(set) subscript(counter: ServiceCounter) -> UInt64 {
    get { counters[counter.rawValue] }
    set { counters[counter.rawValue] = newValue }
  }

  package func requests(row: Int, statusClass: Int) -> UInt64 {
    let index = row * ServiceCounts.statusClasses + statusClass
    return byRule.indices.contains(index) ? byRule[index] : 0
  }

  package func refusals(_ code: RefusalCode) -> UInt64 { byCode[Int(code.rawValue)] }

  fileprivate mutating func addRows(rules: Int) {
    let wanted = (rules + 1) * ServiceCounts.statusClasses
    if byRule.count < wanted { byRule += [UInt64](repeating: 0, count: wanted - byRule.count) }
  }

  fileprivate mutating func count(refusal code: RefusalCode) {
    byCode[Int(code.rawValue)] &+= 1
    self[.refusals] &+= 1
  }

  @inline(__always)
  fileprivate mutating func count(
    _ record: borrowing AccessRecord, rule: Int?, responseHead time: UInt64?, at now: UInt64
  ) {
    let row = rule.map { $0 &+ 1 } ?? 0
    let statusClass = min(max(record.status / 100, 1), ServiceCounts.statusClasses) - 1
    let index = row &* ServiceCounts.statusClasses &+ statusClass
    if index < byRule.count { byRule[index] &+= 1 }
    self[.requests] &+= 1
    counters[ServiceCounter.index(record.clientProtocol, record.upstreamProtocol)] &+= 1
    self[.bytesUp] &+= record.bytesUp
    self[.bytesDown] &+= record.bytesDown
    if let time { responseHead.observe(microseconds: time) }
    self[.redactions] &+= record.redactions
    if record.isRetried { self[.retries] &+= 1 }
    lastStatus = record.status
    lastAt = now
    if let refusal = record.refusal {
      count(refusal: refusal.code)
      if refusal.code.concernsUpstream { lastFailure = now }
    } else if record.isRejected || lastStatus >= 500 {
      lastFailure = now
    } else if !record.isAborted {
      lastSuccess = now
    }
  }

  package mutating func add(_ other: ServiceCounts) {
    let missing = other.byRule.count - byRule.count
    if missing > 0 { byRule += [UInt64](repeating: 0, count: missing) }
    for index in other.byRule.indices { byRule[index] &+= other.byRule[index] }
    for index in byCode.indices { byCode[index] &+= other.byCode[index] }
    for index in counters.indices { counters[index] &+= other.counters[index] }
    connect.add(other.connect)
    handshake.add(other.handshake)
    responseHead.add(other.responseHead)
    if other.lastStatus != 0, lastStatus == 0 || other.lastAt > lastAt {
      (lastStatus, lastAt) = (other.lastStatus, other.lastAt)
    }
    if let seen = other.upstream, seen.seenAt > upstream?.seenAt ?? .min { upstream = seen }
    // Only the first worker probes.
    probe = probe ?? other.probe
    lastSuccess = later(lastSuccess, other.lastSuccess)
    lastFailure = later(lastFailure, other.lastFailure)
  }
}

func later(_ one: UInt64?, _ other: UInt64?) -> UInt64? {
  guard let one, let other else { return one ?? other }
  return max(one, other)
}

extension RefusalCode {
  /// Whether the refusal counts as a failure of the service.
  fileprivate var concernsUpstream: Bool {
    switch refuser {
    case .parser, .admission, .rules: false
    case .keyring, .connector, .upstream, .bearerd: true
    }
  }
}
