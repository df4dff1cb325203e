package import HTTP1
package import Policy
internal import Primitives

/// The fate of a request, decided by the code of the live path; nothing is opened and nothing is sent.
package struct Explanation: Sendable {
  /// nil: it would go out.
  package let refusal: Refusal?
  package let route: Route?
  /// Who asks, with the name of the client whose token came along; nil: the kernel did not say.
  package let caller: Caller?
  /// The canonical path, as matched and logged: client tokens in it are masked.
  package let path: String
  /// Why each rule of the service won or lost; empty without rules or when no service was found.
  package let rules: [RuleVerdict]
  /// Names of fields and parameters that are removed and added.
  package let notes: ForwardingChanges
  /// The request line and fields as they would be sent, without the values that the keyring adds.
  package let upstreamHead: [UInt8]
  /// The keyring would write this grant's fields; nil: it would add nothing.
  package let grant: Grant?
  /// The protocol that the upstream would be asked to switch to; nil: none.
  package let upgrade: UpgradeProtocol?
  /// The upstream's connection would serve nothing after it, for the sake of its body.
  package let closesUpstream: Bool
  /// The origin of the page that asks, if it is listed.
  package let page: String?
  /// Whether the request is a page's preflight, which bearerd answers.
  package let isPreflight: Bool
  /// Whether the request may go no further than to bearerd, which answers.
  package let isFinalRecipient: Bool
  /// The place of the character for which the target is refused; empty for every other decision.
  package let fault: MessageFault

  /// - Parameter localEnd: our end of the connection, where `Host` may name that.
  package init(
    _ head: RequestHead, caller: Caller?, listener: Int, localEnd: LocalEnd? = nil, snapshot: Snapshot
  ) {
    var exchange = Exchange(limits: snapshot.headLimits)
    exchange.head = head
    exchange.reset()
    var trace: [RuleVerdict]? = []
    let refusal = exchange.decide(
      by: snapshot,
      at: Arrival(
        listener: snapshot.listeners.indices.contains(listener) ? snapshot.listeners[listener] : nil, caller: caller,
        localEnd: localEnd), trace: &trace)
    var notes = ForwardingNotes(changes: ForwardingChanges())
    var output = ByteBuffer()
    if refusal == nil, let route = exchange.route {
      exchange.forwarding.write(
        head, target: exchange.target, route: route, snapshot: snapshot, to: &output,
        notes: &notes)
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
    closesUpstream = refusal == nil && exchange.forwarding.isLast
    page = exchange.decision.admitted?.page.map { String(decoding: $0, as: UTF8.self) }
    isPreflight = exchange.decision.ownAnswer == .preflight
    isFinalRecipient = exchange.decision.ownAnswer == .finalRecipient
    fault = exchange.record.fault
  }
}
