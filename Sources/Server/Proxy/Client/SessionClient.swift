internal import Gateway
internal import Transport

/// The program at the other end of a client connection.
struct SessionClient {
  let listener: ListenerID
  /// The user at the other end, as the kernel says.
  let peer: Peer
  /// The systemd unit in which the client's socket was made, if that is known.
  let unit: String?
  var quota: CallerQuota
  /// The session's number in `WorkerSessions.unproven`; nil: its caller has been admitted.
  var unprovenNumber: UInt64?
}
