internal import Gateway
internal import Primitives
internal import Transport

/// The client of one request: its connection, as the request sees it.
protocol RequestClient: AnyObject {
  var arrival: Arrival { get }
  /// The systemd unit in which the client's socket was created. `nil` if it is unknown.
  var unit: String? { get }
  var quota: CallerQuota { get }
  /// Whether the listener of the connection was removed.
  var isOrphaned: Bool { get }
  /// Whether the client has closed its connection while bearerd does not read from it, because a request is pending.
  var isGone: Bool { get }
  /// The upstream connection on which this client has logged in. `nil` if there is none.
  var dedicated: DedicatedUpstream? { get set }

  /// Called when the head of the request has arrived, or was refused.
  func requestBegan()
  /// Called when the client has sent a valid client token.
  func callerIsProven()
  /// Sends the heads of responses, as HTTP/1 text. Only for HTTP/2: clients over HTTP/1 get heads with `send`.
  func sendHeads(_ text: Span<UInt8>)
  func send(_ first: Span<UInt8>, _ second: Span<UInt8>)
  /// Ends the response. Only for HTTP/2.
  /// - Parameter trailers: whole lines.
  func endResponse(trailers: borrowing ByteBuffer)
  /// Ends the sending direction after all bytes are sent.
  func shutdown()
  /// Ends the sending direction, and discards what the client sends until it closes the connection.
  func linger()
  /// Closes the connection after all bytes are sent.
  /// - Parameter reset: whether to drop these bytes and close at once.
  func close(reset: Bool)
  /// Called at least once when the request has ended, after `close` or `linger`. Only `settle` may follow.
  func ended(_ run: RequestRun)
  /// Called after an event that did not come from the client. Continues to read, and updates the deadline.
  func settle()
  /// Restarts the current timeout.
  func restartDeadline()
  func pauseBodyPace()
}
