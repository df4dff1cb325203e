internal import Gateway

/// What a client's connection reads, and how long it waits.
struct ClientFlow {
  /// Received bytes that no request can use yet.
  var pending: [UInt8] = []
  var isReading = false
  /// Whether the client has ended its sending direction.
  var hasEnded = false
  /// Whether a byte of a request has arrived.
  var hasReceivedRequest = false
  /// How long the client may read nothing of its last response, in milliseconds. `nil` for the default.
  var silence: UInt64?
  var bodyPace = BodyPace()
  var turnShare = TurnShare()
  /// The kind of the scheduled deadline. Set this to `nil` to restart the timeout.
  var lastDeadline: Deadline?
}
