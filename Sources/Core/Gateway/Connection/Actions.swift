package import Policy
package import Primitives

/// Actions that the shell carries out after an event, in the order of this list. A set: no event asks for one thing twice.
///
/// Public, as some other small types that are asked often: of what is the package's own the compiler inlines next to nothing in
/// another module.
public struct Actions: OptionSet, Sendable {
  /// A bit for each.
  public let rawValue: UInt32
  /// - Parameter rawValue: a bit for each.
  @inlinable public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// In place of OptionSet's own, which is not specialised for another module: the shell asks a dozen times per event.
  @inlinable public func contains(_ member: Actions) -> Bool { rawValue & member.rawValue == member.rawValue }
  /// Inlined, as the set itself is.
  @inlinable public var isEmpty: Bool { rawValue == 0 }

  /// Whether the head of a response brings something for credentials: one question in place of four.
  @inlinable public var concernResponseHead: Bool {
    rawValue
      & (Actions.offerCookie.rawValue | Actions.keepCookies.rawValue | Actions.inspectResponse.rawValue
        | Actions.restartDeadline.rawValue) != 0
  }

  /// Whether there is more to do than to pass on bytes and to end an exchange: one question in place of seven.
  @inlinable public var concernConnections: Bool {
    rawValue
      & (Actions.openUpstream.rawValue | Actions.openFreshUpstream.rawValue | Actions.shutdownClient.rawValue
        | Actions.reset.rawValue | Actions.close.rawValue | Actions.renewCredential.rawValue
        | Actions.replaceCredential.rawValue) != 0
  }

  // MARK: the head of the upstream's response, before the client sees any of it

  /// `Exchange.removeFreshCookie` has a newer value of the credential: keep it.
  @inlinable public static var offerCookie: Actions { Actions(rawValue: 1 << 0) }
  /// `Exchange.removeJarCookies` has cookies for the jar: keep them.
  @inlinable public static var keepCookies: Actions { Actions(rawValue: 1 << 1) }
  /// The upstream has answered with `upstreamStatus`: learn what its challenge says, and report its verdict on the credential.
  @inlinable public static var inspectResponse: Actions { Actions(rawValue: 1 << 2) }

  // MARK: bytes

  /// `upstreamHead` is a head without its closing line: have it authorised and sent.
  @inlinable public static var sendHead: Actions { Actions(rawValue: 1 << 3) }
  /// Send `toUpstream`, then (with a head: in the same record, where they fit) `upstreamBody` of the input.
  @inlinable public static var sendBody: Actions { Actions(rawValue: 1 << 4) }
  /// Send `toClient`, then `clientBody` of the input.
  @inlinable public static var sendToClient: Actions { Actions(rawValue: 1 << 5) }
  /// Answer a scrape with the metrics.
  @inlinable public static var sendMetrics: Actions { Actions(rawValue: 1 << 6) }
  /// Say that nothing more will go up, and go on reading: a half-close.
  @inlinable public static var shutdownUpstream: Actions { Actions(rawValue: 1 << 7) }

  // MARK: the end of an exchange

  /// With `releaseUpstream`: the session may serve this caller on this connection, as long as that lasts, and no other.
  @inlinable public static var dedicateUpstream: Actions { Actions(rawValue: 1 << 8) }
  /// The exchange is over and its session may serve another.
  @inlinable public static var releaseUpstream: Actions { Actions(rawValue: 1 << 9) }
  /// The exchange is over, or given up; its session, or the attempt to open one, is of no further use.
  @inlinable public static var dropUpstream: Actions { Actions(rawValue: 1 << 10) }
  /// As `dropUpstream`, but the upstream must not take what it has for the whole.
  @inlinable public static var resetUpstream: Actions { Actions(rawValue: 1 << 11) }
  /// Write the exchange's line.
  @inlinable public static var record: Actions { Actions(rawValue: 1 << 12) }

  // MARK: connections

  /// Take an idle session of the route's identity, or open one; answer with `upstreamReady` or `upstreamRefused`.
  @inlinable public static var openUpstream: Actions { Actions(rawValue: 1 << 13) }
  /// A session to the upstream is wanted, and not an idle one: the last was stale.
  @inlinable public static var openFreshUpstream: Actions { Actions(rawValue: 1 << 14) }
  /// The upstream calls the credential expired, and its response is held back: have a new value fetched, and answer with
  /// `credentialRenewed` or `renewalRefused`. Until then nothing of the upstream is read.
  @inlinable public static var renewCredential: Actions { Actions(rawValue: 1 << 15) }
  /// The upstream calls the credential expired, and the request cannot go out again: a new value helps the next one.
  @inlinable public static var replaceCredential: Actions { Actions(rawValue: 1 << 16) }
  /// Half-close once everything is sent, and go on reading until the client closes or the deadline passes.
  @inlinable public static var shutdownClient: Actions { Actions(rawValue: 1 << 17) }
  /// Close once everything is sent.
  @inlinable public static var close: Actions { Actions(rawValue: 1 << 18) }
  /// Close with a reset: the client must not take what it has for the whole.
  @inlinable public static var reset: Actions { Actions(rawValue: 1 << 19) }

  // MARK: later

  /// An interim response has come: the time that runs begins again.
  @inlinable public static var restartDeadline: Actions { Actions(rawValue: 1 << 21) }

  /// The response has been searched for long enough: offer the rest of the input once more on a later turn of the loop, and
  /// read nothing of the upstream until then.
  @inlinable public static var continueLater: Actions { Actions(rawValue: 1 << 20) }
}

/// The outcome of one event. One per worker, reused: nothing here is allocated per event once it is warm.
package struct Output: Sendable {
  package var actions: Actions = []
  package var toClient = ByteBuffer()
  package var upstreamHead = ByteBuffer()
  /// The grant whose credential the keyring has to add to `upstreamHead`; nil: none.
  package var grant: ConfigurationScoped<Int>?
  package var caller: Caller?
  /// With `grant`: the upstream has answered this request once, and asked for the credential.
  package var isAsked = false
  /// With `inspectResponse`: the status of the upstream's response.
  package var upstreamStatus = 0
  /// With `inspectResponse`: what the response says of the credential that went out; `nil` if it says nothing.
  package var verdict: CredentialVerdict?
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
    // Reset so that no later request is sent with this grant.
    grant = nil
    caller = nil
    isAsked = false
    upstreamStatus = 0
    verdict = nil
    toUpstream.removeAll()
    clientBody = 0..<0
    upstreamBody = 0..<0
    if !changed.isEmpty { changed.removeAll(keepingCapacity: true) }
  }

  /// Drops all that this event staged for the upstream.
  mutating func discardRequest() {
    upstreamHead.removeAll()
    toUpstream.removeAll()
    upstreamBody = 0..<0
    actions.subtract([.sendHead, .sendBody])
  }
}

/// The event that the client connection waits for, and so the configured time that runs. The shell owns the clock.
public enum Deadline: Sendable, Equatable {
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
