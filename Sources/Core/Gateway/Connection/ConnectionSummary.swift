package import Policy

extension ClientConnection {
  /// The state of a client connection after an event: all that the shell looks at before the next one.
  ///
  /// A value of its own, because the connection is large and lives in a class: each question to it there costs a check that
  /// no other access is under way, and a copy of the whole.
  @usableFromInline
  package struct Summary: Sendable {
    @usableFromInline package let phase: Phase
    @usableFromInline package let deadline: Deadline
    @usableFromInline let flags: Flags
    /// Number of the configuration that decided the request; 0: none has.
    package let generation: UInt64
    package let route: ConfigurationScoped<Route>?
    /// An index of the grants of the configuration that decided the request.
    package let grant: ConfigurationScoped<Int>?
    package let bytesUp: UInt64

    /// The state of a connection that has just come.
    package static let atFirst = resting(isFresh: true)

    /// The state of a connection between two requests, of which nothing is known but whether it has ever sent a request.
    package static func resting(isFresh: Bool) -> Summary {
      Summary(
        phase: .awaitingHead, deadline: isFresh ? .head : .idle, flags: [.wantsClientBytes, .isResting], generation: 0,
        route: nil, grant: nil, bytesUp: 0)
    }

    @usableFromInline
    struct Flags: OptionSet, Sendable {
      @usableFromInline let rawValue: UInt8
      @inlinable init(rawValue: UInt8) { self.rawValue = rawValue }
      /// `contains` is generic, and would be called.
      @inlinable @inline(__always) func has(_ flag: Flags) -> Bool { rawValue & flag.rawValue != 0 }

      @inlinable static var wantsClientBytes: Flags { Flags(rawValue: 1) }
      @inlinable static var holdsClientBytes: Flags { Flags(rawValue: 1 << 1) }
      @inlinable static var awaitsRequestBody: Flags { Flags(rawValue: 1 << 2) }
      @inlinable static var hasResponseHead: Flags { Flags(rawValue: 1 << 3) }
      @inlinable static var redacts: Flags { Flags(rawValue: 1 << 4) }
      @inlinable static var isHeld: Flags { Flags(rawValue: 1 << 5) }
      @inlinable static var isResting: Flags { Flags(rawValue: 1 << 6) }
    }

    @inlinable @inline(__always) package var wantsClientBytes: Bool { flags.has(.wantsClientBytes) }
    @inlinable @inline(__always) package var holdsClientBytes: Bool { flags.has(.holdsClientBytes) }
    @inlinable @inline(__always) package var awaitsRequestBody: Bool { flags.has(.awaitsRequestBody) }
    @inlinable @inline(__always) package var hasResponseHead: Bool { flags.has(.hasResponseHead) }
    @inlinable @inline(__always) package var redacts: Bool { flags.has(.redacts) }
    /// The upstream's answer is held back until the credential is renewed, or not.
    @inlinable @inline(__always) package var isHeld: Bool { flags.has(.isHeld) }
    /// Between requests: whatever happens next, a machine that knows nothing but who asks, and where, goes on as well.
    @inlinable @inline(__always) package var isResting: Bool { flags.has(.isResting) }

    @inlinable @inline(__always) package var isAwaitingHead: Bool {
      if case .awaitingHead = phase { true } else { false }
    }
    /// A request was taken and its answer is not complete.
    @inlinable @inline(__always) package var isRunning: Bool {
      switch phase {
      case .awaitingUpstream, .exchanging: true
      case .awaitingHead, .upgraded, .lingering, .closed: false
      }
    }
    /// Nothing was ever asked here. To be asked while it rests.
    @inlinable @inline(__always) package var isFresh: Bool { if case .head = deadline { true } else { false } }
    /// The upstream has, or will have, the request: it was authorised and its exchange is not over.
    @inlinable @inline(__always) package var hasSession: Bool {
      switch phase {
      case .exchanging, .upgraded: true
      case .awaitingHead, .awaitingUpstream, .lingering, .closed: false
      }
    }
  }

  /// Mutating, though it changes nothing: what only looks is lent a copy of it all.
  package var summary: Summary {
    mutating get { summarize() }
  }

  private mutating func summarize() -> Summary {
    var flags: Summary.Flags = []
    if wantsClientBytes { flags.insert(.wantsClientBytes) }
    if holdsClientBytes { flags.insert(.holdsClientBytes) }
    if awaitsRequestBody { flags.insert(.awaitsRequestBody) }
    if hasResponseHead { flags.insert(.hasResponseHead) }
    let redacts = if case .off = exchange.redact { false } else { true }
    if redacts { flags.insert(.redacts) }
    if exchange.isHeld { flags.insert(.isHeld) }
    if phase == .awaitingHead, headProgress != .begun { flags.insert(.isResting) }
    let generation = exchange.snapshot?.generation ?? 0
    return Summary(
      phase: phase, deadline: deadline, flags: flags, generation: generation,
      route: exchange.route.map { ConfigurationScoped($0, generation: generation) },
      grant: exchange.grant.map { ConfigurationScoped($0, generation: generation) }, bytesUp: exchange.record.bytesUp)
  }
}
