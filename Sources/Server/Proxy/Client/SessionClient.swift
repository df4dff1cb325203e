internal import Gateway
internal import Transport

struct SessionClient {
  let listener: ListenerID
  let peer: Peer
  /// The systemd unit in which the client's socket was created. `nil` if it is unknown.
  let unit: String?
  var quota: CallerQuota
  /// The session's number in `UnprovenSessions`. `nil` if it has none.
  var unprovenNumber: UInt64?
}
