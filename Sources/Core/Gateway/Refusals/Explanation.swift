package import HTTP1
package import Policy
internal import Primitives

/// The decision on a request, for `explain`. Nothing is opened or sent.
package struct Explanation: Sendable {
  /// `nil` if the request is allowed.
  package let refusal: Refusal?
  package let route: Route?
  /// The caller. `nil` if the kernel could not identify the caller.
  package let caller: Caller?
  /// The canonical path, as matched and logged, with client tokens masked.
  package let path: String
  /// The verdict of each rule of the service. Empty if there are no rules, or if no service was found.
  package let rules: [RuleVerdict]
  /// Names of the fields and parameters that are removed and added.
  package let notes: ForwardingChanges
  /// The request line and fields as they would be sent with HTTP/1.1, without the fields that the keyring adds.
  package let upstreamHead: [UInt8]
  /// The grant whose fields the keyring would add. `nil` if there is none.
  package let grant: Grant?
  /// The protocol that the upstream would be asked to switch to. `nil` if there is none.
  package let upgrade: UpgradeProtocol?
  /// The HTTP version of the request to the upstream. `nil` if the request would not be sent.
  package let version: VersionChoice?
  /// Whether the upstream's connection would close after the request, because of its body.
  package let closesUpstream: Bool
  /// The origin of the listed web page that sent the request. `nil` if there is none.
  package let page: String?
  /// Whether bearerd itself responds, because the request is a page's preflight.
  package let isPreflight: Bool
  /// Whether bearerd itself responds with the services that the caller may use.
  package let isDiscovery: Bool
  /// Whether bearerd itself responds, because the request is an OPTIONS with `Max-Forwards: 0`.
  package let isFinalRecipient: Bool
  /// The position of a forbidden character in the request's target, and the character. Empty if there is none.
  package let fault: MessageFault

  /// - Parameter localEnd: an address that `Host` may name in addition to the listener's names. `nil` if there is none.
  package init(
    _ head: RequestHead, caller: Caller?, listener: Int, localEnd: LocalEnd? = nil, snapshot: Snapshot
  ) {
    var exchange = Exchange()
    exchange.head = head
    exchange.headEnded()
    var trace: [RuleVerdict]? = []
    let refusal = exchange.decide(
      by: snapshot,
      at: Arrival(
        listener: snapshot.listeners.indices.contains(listener) ? snapshot.listeners[listener] : nil, caller: caller,
        localEnd: localEnd), trace: &trace)
    var notes = ForwardingNotes(changes: ForwardingChanges())
    var output = ByteBuffer()
    if refusal == nil, let route = exchange.route {
      var request = OutgoingRequest()
      exchange.forwarding.write(
        head, over: .http1, target: exchange.target, route: route, snapshot: snapshot, to: &request, notes: &notes)
      RequestWriter.write(request, to: &output)
    }
    self.refusal = refusal
    route = exchange.route
    self.caller = exchange.caller
    path = String(decoding: ClientToken.masked(exchange.target.path.span), as: UTF8.self)
    rules = trace ?? []
    self.notes = notes.changes ?? ForwardingChanges()
    upstreamHead = Array(output.contents)
    grant = exchange.grant.map { snapshot.rules.grants[$0] }
    upgrade = refusal == nil ? exchange.forwarding.upgrade : nil
    version = refusal == nil ? Explanation.version(of: &exchange, snapshot) : nil
    closesUpstream = refusal == nil && exchange.forwarding.isLast
    page = exchange.decision.admitted?.page.map { String(decoding: $0, as: UTF8.self) }
    isPreflight = exchange.decision.localResponse == .preflight
    isDiscovery = exchange.decision.localResponse == .discovery
    isFinalRecipient = exchange.decision.localResponse == .finalRecipient
    fault = exchange.record.fault
  }

  private static func version(of exchange: inout Exchange, _ snapshot: Snapshot) -> VersionChoice? {
    guard let route = exchange.route else { return nil }
    let key = snapshot.options(of: route).serviceProtocol
    if key == .http1 { return .configured(.http1) }
    let isTLS = snapshot.rules.services[route.service].upstream.origin.scheme == .https
    if key == .auto, !isTLS { return .withoutTLS }
    if snapshot.needsHTTP1(route) { return route.credential == .pass ? .dedicated : .challenge }
    if exchange.needsHTTP1 { return exchange.forwarding.upgrade != nil ? .upgrade : .login }
    return key == .http2 ? .configured(.http2) : .ofUpstream
  }
}
