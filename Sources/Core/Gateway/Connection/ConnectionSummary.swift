package import Policy

extension ClientConnection {
  /// The parts of the connection's state that the worker checks between events.
  @usableFromInline
  package struct Summary: Sendable {
    @usableFromInline package let phase: Phase
    @usableFromInline package let deadline: Deadline
    @usableFromInline let flags: Flags
    /// The number of the configuration that decided the request. 0 if there was no decision.
    package let generation: UInt64
    package let route: ConfigurationScoped<Route>?
    package let grant: ConfigurationScoped<Int>?
    package let bytesUp: UInt64

    package static let initial = idle(isFresh: true)

    package static func idle(isFresh: Bool) -> Summary {
      Summary(
        phase: .awaitingHead, deadline: isFresh ? .head : .idle, flags: [.wantsClientBytes, .isIdle], generation: 0,
        route: nil, grant: nil, bytesUp: 0)
    }

    @usableFromInline
    struct Flags: OptionSet, Sendable {
      @usableFromInline let rawValue: UInt8
      @inlinable init(rawValue: UInt8) { self.rawValue = rawValue }
      @inlinable @inline(__always) func has(_ flag: Flags) -> Bool { rawValue & flag.rawValue != 0 }

      @inlinable static var wantsClientBytes: Flags { Flags(rawValue: 1) }
      @inlinable static var pausesReadingWhenBuffered: Flags { Flags(rawValue: 1 << 1) }
      @inlinable static var awaitsRequestBody: Flags { Flags(rawValue: 1 << 2) }
      @inlinable static var hasResponseHead: Flags { Flags(rawValue: 1 << 3) }
      @inlinable static var redacts: Flags { Flags(rawValue: 1 << 4) }
      @inlinable static var isAwaitingRenewal: Flags { Flags(rawValue: 1 << 5) }
      @inlinable static var isIdle: Flags { Flags(rawValue: 1 << 6) }
    }

    @inlinable @inline(__always) package var wantsClientBytes: Bool { flags.has(.wantsClientBytes) }
    @inlinable @inline(__always) package var pausesReadingWhenBuffered: Bool { flags.has(.pausesReadingWhenBuffered) }
    @inlinable @inline(__always) package var awaitsRequestBody: Bool { flags.has(.awaitsRequestBody) }
    @inlinable @inline(__always) package var hasResponseHead: Bool { flags.has(.hasResponseHead) }
    @inlinable @inline(__always) package var redacts: Bool { flags.has(.redacts) }
    @inlinable @inline(__always) package var isAwaitingRenewal: Bool { flags.has(.isAwaitingRenewal) }
    /// Whether the connection is between requests.
    @inlinable @inline(__always) package var isIdle: Bool { flags.has(.isIdle) }

    @inlinable @inline(__always) package var isAwaitingHead: Bool {
      if case .awaitingHead = phase { true } else { false }
    }
    /// Whether a request was accepted and its response is not complete.
    @inlinable @inline(__always) package var isRunning: Bool {
      switch phase {
      case .awaitingUpstream, .awaitingRetry, .exchanging: true
      case .awaitingHead, .upgraded, .lingering, .closed: false
      }
    }
    /// Whether the connection has never received a request. Valid only while `isIdle` is `true`.
    @inlinable @inline(__always) package var isFresh: Bool { if case .head = deadline { true } else { false } }
    @inlinable @inline(__always) package var hasSession: Bool { phase.hasSession }
  }

  package var summary: Summary {
    mutating get {
      var flags: Summary.Flags = []
      if wantsClientBytes { flags.insert(.wantsClientBytes) }
      if pausesReadingWhenBuffered { flags.insert(.pausesReadingWhenBuffered) }
      if awaitsRequestBody { flags.insert(.awaitsRequestBody) }
      if hasResponseHead { flags.insert(.hasResponseHead) }
      let redacts = if case .off = exchange.redact { false } else { true }
      if redacts { flags.insert(.redacts) }
      if exchange.isAwaitingRenewal { flags.insert(.isAwaitingRenewal) }
      if phase == .awaitingHead, client.headProgress != .begun { flags.insert(.isIdle) }
      let generation = exchange.snapshot?.generation ?? 0
      return Summary(
        phase: phase, deadline: deadline, flags: flags, generation: generation,
        route: exchange.route.map { ConfigurationScoped($0, generation: generation) },
        grant: exchange.grant.map { ConfigurationScoped($0, generation: generation) }, bytesUp: exchange.record.bytesUp)
    }
  }
}
