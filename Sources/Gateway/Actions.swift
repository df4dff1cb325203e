package import HTTP1
package import Policy

/// What the shell is to do, in the order of this list. A set: no event asks for one thing twice.
package struct Actions: OptionSet, Sendable {
  package let rawValue: UInt16
  package init(rawValue: UInt16) { self.rawValue = rawValue }

  /// In place of OptionSet's own, which is not specialised for another module: the shell asks a dozen times per event.
  package func contains(_ member: Actions) -> Bool { rawValue & member.rawValue == member.rawValue }

  /// Whether there is more to do than to pass on bytes and to end an exchange: one question in the place of five.
  package var concernConnections: Bool {
    rawValue
      & (Actions.openUpstream.rawValue | Actions.openFreshUpstream.rawValue | Actions.shutdownClient.rawValue
        | Actions.reset.rawValue | Actions.close.rawValue) != 0
  }

  /// `upstreamHead` is a head without its closing line: have it authorised and sent.
  package static let sendHead = Actions(rawValue: 1 << 0)
  /// Send `toUpstream`, then (with a head: in the same record, where they fit) `upstreamBody` of the input.
  package static let sendBody = Actions(rawValue: 1 << 1)
  /// Send `toClient`, then `clientBody` of the input. With neither, the exchange is a scrape: send what that gets.
  package static let sendToClient = Actions(rawValue: 1 << 2)
  /// Say that nothing more will go up, and go on reading: a half-close.
  package static let shutdownUpstream = Actions(rawValue: 1 << 3)
  /// The exchange is over and its session may serve another.
  package static let releaseUpstream = Actions(rawValue: 1 << 4)
  /// The exchange is over, or given up; its session, or the attempt to open one, is of no further use.
  package static let dropUpstream = Actions(rawValue: 1 << 5)
  /// As `dropUpstream`, but the upstream must not take what it has for the whole.
  package static let resetUpstream = Actions(rawValue: 1 << 6)
  /// Write the exchange's line.
  package static let record = Actions(rawValue: 1 << 7)
  /// Take an idle session of the route's identity, or open one; answer with `upstreamReady` or `upstreamRefused`.
  package static let openUpstream = Actions(rawValue: 1 << 8)
  /// The same, but not an idle one: the last was stale.
  package static let openFreshUpstream = Actions(rawValue: 1 << 9)
  /// Half-close once everything is sent, and go on reading until the client closes or the deadline passes.
  package static let shutdownClient = Actions(rawValue: 1 << 10)
  /// Close once everything is sent.
  package static let close = Actions(rawValue: 1 << 11)
  /// Close with a reset: the client must not take what it has for the whole.
  package static let reset = Actions(rawValue: 1 << 12)
}

/// What an event brought forth. One per worker, reused: nothing here is allocated per event once it is warm.
package struct Output: Sendable {
  package var actions: Actions = []
  package var toClient = ByteBuffer()
  package var upstreamHead = ByteBuffer()
  /// What the keyring has to add to `upstreamHead`, and for whom; nil: nothing, nobody.
  package var grant: Int?
  package var caller: Caller?
  package var toUpstream = ByteBuffer()
  /// Bytes of the event's input that follow `toClient`, without having been copied.
  package var clientBody = 0..<0
  package var upstreamBody = 0..<0
  /// Body bytes that go on changed, before those of the input. Used within one piece only.
  var changed: [UInt8] = []

  package init() {}

  package mutating func reset() {
    actions = []
    toClient.removeAll()
    upstreamHead.removeAll()
    // A head of another one's never goes out under them.
    grant = nil
    caller = nil
    toUpstream.removeAll()
    clientBody = 0..<0
    upstreamBody = 0..<0
    if !changed.isEmpty { changed.removeAll(keepingCapacity: true) }
  }

  /// What this event staged for the upstream is not sent.
  mutating func giveUpRequest() {
    upstreamHead.removeAll()
    toUpstream.removeAll()
    upstreamBody = 0..<0
    actions.subtract([.sendHead, .sendBody])
  }
}

/// What the client connection waits for, and so which of the configured times runs. The shell owns the clock.
package enum Deadline: Sendable, Equatable {
  /// Between requests: the idle keep-alive time.
  case idle
  /// A connection is new, or a head has begun. Not moved by bytes (T54).
  case head
  /// A session is being opened; the connector has deadlines of its own.
  case none
  /// The request is out; its answer has not begun.
  case responseHead
  /// A body is under way in either direction; every byte moves it.
  case silence
  /// Upgraded: every byte in either direction moves it.
  case upgraded
  /// After the answer, until the client closes.
  case linger
}
