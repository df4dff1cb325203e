internal import EventLoop
internal import Generations

final class RevokedSessions: DeadlineOwner {
  /// The sessions, with the generation that authorized their exchange.
  private let revoked: [(session: ClientSession, generation: Generation)]

  init(_ sessions: [ClientSession]) { revoked = sessions.map { ($0, $0.generation) } }

  override func deadlinePassed() {
    for entry in revoked { entry.session.cut(ifStillIn: entry.generation) }
  }
}
