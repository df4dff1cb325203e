package import HTTP1
package import Policy
package import Primitives

/// The steps that a `RequestRun` carries out after an event, in the order of this list.
public struct Actions: OptionSet, Sendable {
  /// One bit for each action.
  public let rawValue: UInt32
  /// Creates a set from its bits.
  @inlinable public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// Whether the set contains `member`.
  @inlinable public func contains(_ member: Actions) -> Bool { rawValue & member.rawValue == member.rawValue }
  /// Whether the set has no action.
  @inlinable public var isEmpty: Bool { rawValue == 0 }

  /// Whether the set has an action for the head of the upstream's response, or for its verdict.
  @inlinable public var concernResponseHead: Bool {
    rawValue
      & (Actions.offerCookie.rawValue | Actions.keepCookies.rawValue | Actions.inspectResponse.rawValue
        | Actions.restartDeadline.rawValue | Actions.judgeCredential.rawValue) != 0
  }

  /// Whether the set has an action that writes a response of bearerd itself.
  @inlinable public var concernLocalResponse: Bool {
    rawValue & (Actions.sendMetrics.rawValue | Actions.sendDiscovery.rawValue) != 0
  }

  /// Whether the set has an action that opens an upstream connection, closes the client connection or renews a credential.
  @inlinable public var concernConnections: Bool {
    rawValue
      & (Actions.openUpstream.rawValue | Actions.openFreshUpstream.rawValue | Actions.shutdownClient.rawValue
        | Actions.reset.rawValue | Actions.close.rawValue | Actions.renewCredential.rawValue
        | Actions.replaceCredential.rawValue | Actions.prepareRetry.rawValue) != 0
  }

  /// Whether the set has an action that renews a credential, or sends a request again later.
  @inlinable public var concernRepetition: Bool {
    rawValue
      & (Actions.renewCredential.rawValue | Actions.replaceCredential.rawValue | Actions.prepareRetry.rawValue) != 0
  }

  // MARK: the upstream's response head, before the client gets any of it

  /// Store the new credential value that the response sets as a cookie (`Exchange.removeFreshCookie`).
  @inlinable public static var offerCookie: Actions { Actions(rawValue: 1 << 0) }
  /// Store the cookies of the response in the jar (`Exchange.removeJarCookies`).
  @inlinable public static var keepCookies: Actions { Actions(rawValue: 1 << 1) }
  /// Read the challenges of the response, and report its verdict on the credential to the breaker.
  @inlinable public static var inspectResponse: Actions { Actions(rawValue: 1 << 2) }

  /// Restart the current deadline, because an interim response has arrived.
  @inlinable public static var restartDeadline: Actions { Actions(rawValue: 1 << 21) }

  /// Report a verdict on the credential that has not come with the head of the response. Only for gRPC.
  @inlinable public static var judgeCredential: Actions { Actions(rawValue: 1 << 27) }

  // MARK: bytes

  /// Let the keyring add the credential to `upstreamRequest`, and send the head.
  @inlinable public static var sendHead: Actions { Actions(rawValue: 1 << 3) }
  /// Send `toUpstream`, then the range `upstreamBody` of the input. If possible, in one TLS record with the head.
  @inlinable public static var sendBody: Actions { Actions(rawValue: 1 << 4) }
  /// Send `toClient`, then the range `clientBody` of the input.
  @inlinable public static var sendToClient: Actions { Actions(rawValue: 1 << 5) }
  /// Send the heads `clientHeads`, before `toClient`. Only for HTTP/2.
  @inlinable public static var sendHeads: Actions { Actions(rawValue: 1 << 25) }
  /// End the response after `toClient` and `clientBody`, with the trailers `trailers`. Only for HTTP/2.
  @inlinable public static var endResponse: Actions { Actions(rawValue: 1 << 26) }
  /// Write the metrics as the response to a scrape, and send it.
  @inlinable public static var sendMetrics: Actions { Actions(rawValue: 1 << 6) }
  /// Write the services that the caller may use as the response, and send it.
  @inlinable public static var sendDiscovery: Actions { Actions(rawValue: 1 << 22) }
  /// Half-close the connection to the upstream, and continue to read from it.
  @inlinable public static var shutdownUpstream: Actions { Actions(rawValue: 1 << 7) }

  /// End the request's body after `toUpstream` and `upstreamBody`, with the trailers `requestTrailers`. Only for HTTP/2.
  @inlinable public static var endRequest: Actions { Actions(rawValue: 1 << 24) }

  // MARK: the end of an exchange

  /// Reserve the upstream connection for later requests on this client connection. Set only together with `releaseUpstream`.
  @inlinable public static var dedicateUpstream: Actions { Actions(rawValue: 1 << 8) }
  /// The exchange is complete. Release its upstream connection for other exchanges.
  @inlinable public static var releaseUpstream: Actions { Actions(rawValue: 1 << 9) }
  /// The exchange is complete or aborted. Close its upstream connection, or stop opening one.
  @inlinable public static var dropUpstream: Actions { Actions(rawValue: 1 << 10) }
  /// Like `dropUpstream`, but close with a reset, so that the upstream does not consider the data complete.
  @inlinable public static var resetUpstream: Actions { Actions(rawValue: 1 << 11) }
  /// Write the access record of the exchange.
  @inlinable public static var record: Actions { Actions(rawValue: 1 << 12) }

  // MARK: connections

  /// Reuse an idle connection for the route, or open a connection. Then call `upstreamReady` or `upstreamRefused`.
  @inlinable public static var openUpstream: Actions { Actions(rawValue: 1 << 13) }
  /// Open a new connection for a retry. Do not reuse an idle connection.
  @inlinable public static var openFreshUpstream: Actions { Actions(rawValue: 1 << 14) }
  /// Renew or compute the credential, then call `credentialRenewed` or `renewalRefused`. Until then, read nothing from
  /// the upstream.
  @inlinable public static var renewCredential: Actions { Actions(rawValue: 1 << 15) }
  /// Renew the credential for later requests. This request is not sent again.
  @inlinable public static var replaceCredential: Actions { Actions(rawValue: 1 << 16) }
  /// The request is sent again at `Exchange.retryDue`, when the deadline passes. Return the permits of this attempt.
  @inlinable public static var prepareRetry: Actions { Actions(rawValue: 1 << 23) }
  /// Half-close the client connection after all bytes are sent. Continue to read until the client closes or the
  /// deadline passes.
  @inlinable public static var shutdownClient: Actions { Actions(rawValue: 1 << 17) }
  /// Close the client connection after all bytes are sent.
  @inlinable public static var close: Actions { Actions(rawValue: 1 << 18) }
  /// Reset the client connection, so that the client does not consider an incomplete response complete.
  @inlinable public static var reset: Actions { Actions(rawValue: 1 << 19) }

  // MARK: later

  /// Process the rest of the input on a later turn of the event loop. Read nothing from the upstream until then.
  @inlinable public static var continueLater: Actions { Actions(rawValue: 1 << 20) }
}

/// The actions of one event, with the bytes to send. The buffers keep their memory from event to event.
package struct Output: Sendable {
  package var results = EventResults()
  package var toClient = ByteBuffer()
  /// The heads of responses for a client over HTTP/2, as HTTP/1 text.
  package var clientHeads = ByteBuffer()
  package var upstreamRequest = OutgoingRequest()
  package var toUpstream = ByteBuffer()
  /// The trailers of the request, as whole lines, to send with `endRequest`.
  package var requestTrailers = ByteBuffer()
  /// Memory for the text of a head that came in HTTP/2. Has nothing of use between two calls.
  var headText = ByteBuffer()
  /// The head of a response, before the client's edge writes it.
  var response = OutgoingResponse()
  /// The trailers of a response, as whole lines. For HTTP/1, the client's edge writes them.
  package internal(set) var trailers = ByteBuffer()
  /// Masked or decoded bytes of a response body, to send before `results.unchanged`.
  var changed: [UInt8] = []

  package init() {}

  var actions: Actions {
    @inline(__always) get { results.actions }
    @inline(__always) set { results.actions = newValue }
  }

  /// Forgets the event before, so that no request is sent with its grant.
  package mutating func begin() {
    results = EventResults()
    toClient.removeAll()
    clientHeads.removeAll()
    upstreamRequest.removeAll()
    toUpstream.removeAll()
    requestTrailers.removeAll()
    response.removeAll()
    trailers.removeAll()
    if !changed.isEmpty { changed.removeAll(keepingCapacity: true) }
  }

  /// Whether the body that is sent together with the head is the whole body, without trailers. Only for HTTP/2.
  package var sendsWholeBody: Bool {
    // Not nonmutating: that would copy the output.
    mutating get {
      results.actions.contains([.sendHead, .endRequest]) && requestTrailers.isEmpty
        && (toUpstream.isEmpty || results.upstreamBody.isEmpty)
    }
  }

  /// Discards what the event has written for the client.
  mutating func discardResponse() {
    toClient.removeAll()
    clientHeads.removeAll()
  }

  mutating func discardRequest() {
    upstreamRequest.removeAll()
    toUpstream.removeAll()
    requestTrailers.removeAll()
    results.upstreamBody = 0..<0
    actions.subtract([.sendHead, .sendBody, .endRequest])
  }
}

/// The results of one event, except for its bytes.
package struct EventResults: Sendable {
  package var actions: Actions = []
  /// The grant whose credential the keyring adds to `Output.upstreamRequest`. `nil` if no credential is added.
  package var grant: ConfigurationScoped<Int>?
  package var caller: Caller?
  /// Whether the upstream has already responded to this request with a challenge for the credential.
  package var isChallenged = false
  package var upstreamStatus = 0
  /// The response's verdict on the credential. `nil` if the response allows no conclusion.
  package var verdict: CredentialVerdict?
  /// Whether the end of a gRPC call can still reject the credential.
  package var isVerdictPreliminary = false
  /// The range of the event's input to send after `Output.toClient`. These bytes are not copied.
  package var clientBody = 0..<0
  package var upstreamBody = 0..<0
  /// The range of the input that belongs to the response body and is sent unchanged.
  var unchanged = 0..<0

  package init() {}
}

/// The event that a request, or a client connection without a request, waits for. It selects the configured timeout.
public enum Deadline: Sendable, Equatable {
  /// Between requests: the keep-alive timeout.
  case idle
  /// The connection is new, or a request head has begun. Arriving bytes do not extend this deadline (T54).
  case head
  /// The client connection has no deadline.
  case none
  /// The request was sent, and its response has not begun.
  case responseHead
  /// The request is sent again at `Exchange.retryDue`.
  case retry
  /// A body is in transit in either direction. Every byte restarts the timeout.
  case silence
  /// The connection is upgraded, or a gRPC call was sent. Every byte in either direction restarts the timeout.
  case upgraded
  /// After the last response, until the client closes the connection.
  case linger
}
