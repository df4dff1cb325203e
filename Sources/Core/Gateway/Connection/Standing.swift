package import Policy

extension ClientConnection {
  /// The state of a client connection after an event: all that the shell looks at before the next one.
  ///
  /// A value of its own, because the connection is large and lives in a class: each question to it there costs a check that
  /// no other access is under way, and a copy of the whole.
  package struct Standing: Sendable {
    package let phase: Phase
    package let deadline: Deadline
    package let wantsClientBytes: Bool
    package let holdsClientBytes: Bool
    package let awaitsRequestBody: Bool
    package let hasResponseHead: Bool
    /// Number of the configuration that decided the request; 0: none has.
    package let generation: UInt64
    package let route: Route?
    package let grant: Int?
    package let redacts: Bool
    package let bytesUp: UInt64

    /// A request was taken and its answer is not complete.
    package let isRunning: Bool
    /// The upstream's answer is held back until the credential is renewed, or not.
    package let isHeld: Bool
    package let isAwaitingHead: Bool
    /// Between requests: whatever happens next, a machine that knows nothing but who asks, and where, goes on as well.
    package let isResting: Bool

    /// Nothing was ever asked here. To be asked while it rests.
    package var isFresh: Bool { deadline == .head }

    /// The upstream has, or will have, the request: it was authorised and its exchange is not over.
    package var hasSession: Bool {
      switch phase {
      case .exchanging, .upgraded: true
      case .awaitingHead, .awaitingUpstream, .lingering, .closed: false
      }
    }

    /// The state of a connection that has just come.
    package static let atFirst = Standing(
      phase: .awaitingHead, deadline: .head, wantsClientBytes: true, holdsClientBytes: false, awaitsRequestBody: false,
      hasResponseHead: false, generation: 0, route: nil, grant: nil, redacts: false, bytesUp: 0, isRunning: false,
      isHeld: false, isAwaitingHead: true,
      isResting: true)
  }

  /// Mutating, though it changes nothing: what only looks is lent a copy of it all.
  package var standing: Standing {
    mutating get { stand() }
  }

  private mutating func stand() -> Standing {
    let redacts = if case .off = exchange.redact { false } else { true }
    return Standing(
      phase: phase, deadline: deadline, wantsClientBytes: wantsClientBytes, holdsClientBytes: holdsClientBytes,
      awaitsRequestBody: awaitsRequestBody, hasResponseHead: hasResponseHead,
      generation: exchange.snapshot?.generation ?? 0, route: exchange.route, grant: exchange.grant, redacts: redacts,
      bytesUp: exchange.record.bytesUp,
      isRunning: phase == .awaitingUpstream || phase == .exchanging, isHeld: exchange.isHeld,
      isAwaitingHead: phase == .awaitingHead, isResting: phase == .awaitingHead && headProgress != .begun)
  }
}
