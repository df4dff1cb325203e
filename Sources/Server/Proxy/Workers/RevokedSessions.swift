internal import EventLoop
internal import Setup

/// Sessions whose exchange the configuration allows no longer: when their time is over, they are cut.
final class RevokedSessions: Timed {
  /// With the generation under which each was authorised, which may be older than the last one.
  private let revoked: [(session: ClientSession, generation: Generation)]

  init(_ sessions: [ClientSession]) { revoked = sessions.map { ($0, $0.generation) } }

  override func deadlinePassed() {
    for entry in revoked { entry.session.cut(ifStillIn: entry.generation) }
  }
}
