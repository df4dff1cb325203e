internal import Gateway

/// How fast a client's bytes are read and used, and until when the next ones have to come.
struct ClientFlow {
  /// Bytes of the client that the machine could not use yet.
  var pending: PendingBytes?
  /// Whether the client's stream is being read.
  var isReading = false
  var bodyPace = BodyPace()
  var turnShare = TurnShare()
  /// The deadline that is scheduled; nil: it has to be scheduled anew, even if it is of the same kind.
  var lastDeadline: Deadline?
}
