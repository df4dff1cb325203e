internal import Gateway

struct ClientFlow {
  var pending: PendingBytes?
  var isReading = false
  var bodyPace = BodyPace()
  var turnShare = TurnShare()
  /// The kind of the scheduled deadline. Set this to `nil` to restart the timeout.
  var lastDeadline: Deadline?
}
