import Lifecycle
import Testing

/// A world around a renewal, in which things go wrong by a script, and in which the process is killed at every step.
@Suite struct RenewalModelTests {
  static let scripts: [Script] = [
    Script(name: "all is well"),
    Script(name: "no rotation", rotates: false),
    Script(name: "all of it is done at once", answersAfter: 0, storesAfter: 0),
    Script(
      name: "refused at once", answersAfter: 0, storesAfter: 0, down: 25_000..<60_000, diskFails: 80_000..<120_000),
    Script(name: "logout where all is done at once", answersAfter: 0, storesAfter: 0, logout: 60_000, login: 90_000),
    Script(name: "the server is slow", answersAfter: 9_000),
    Script(name: "the disk is slow", storesAfter: 4_000),
    Script(name: "down for a moment", down: 25_000..<29_000),
    Script(name: "down for long", down: 25_000..<150_000),
    Script(name: "down from the start", down: 0..<60_000),
    Script(name: "down, and wants to be left alone", down: 30_000..<40_000, retryAfter: 45_000),
    Script(name: "answers get lost", losesAnswers: 20_000..<120_000),
    Script(name: "answers get lost without rotation", rotates: false, losesAnswers: 20_000..<120_000),
    Script(name: "the disk is full", diskFails: 30_000..<100_000),
    Script(name: "the disk is full from the start", diskFails: 0..<50_000),
    Script(name: "the disk is full while the server is down", down: 60_000..<90_000, diskFails: 30_000..<100_000),
    Script(name: "tokens live for ten seconds", lifetime: 10_000),
    Script(name: "tokens have no end that is told", lifetime: nil, revokesAccess: [50_000, 50_100, 120_000]),
    Script(name: "tokens are thrown away", lifetime: 60_000, revokesAccess: [10_000, 60_000, 61_000, 62_000, 150_000]),
    Script(name: "thrown away while the server is down", down: 40_000..<80_000, revokesAccess: [45_000]),
    Script(name: "the upstream rejects all", lifetime: 60_000, rejectsAll: 40_000..<140_000),
    Script(name: "logout and login", logout: 60_000, login: 90_000),
    Script(name: "login while the server is down", down: 50_000..<150_000, login: 90_000),
    Script(name: "the grant is withdrawn, and given again", revokesRefresh: 60_000, login: 120_000),
    Script(name: "what is left of a token is handed out", lifetime: 20_000, grantsEnded: 18_000..<19_500),
    Script(name: "nothing is left of any token", rotates: true, grantsEnded: 30_000..<90_000),
    Script(name: "nothing is left, and the disk is slow", storesAfter: 2_000, grantsEnded: 0..<40_000),
    // The breaker between the token and the upstream, which rejects: dead tokens do not go out again, and what a person does
    // helps at once.
    Script(name: "a dead token", lifetime: 60_000, deadTokens: [0]),
    Script(name: "three dead tokens in a row", lifetime: 60_000, deadTokens: [0, 1, 2]),
    Script(name: "every second token is dead", lifetime: 30_000, deadTokens: Set(stride(from: 0, to: 40, by: 2))),
    Script(name: "a dead token while the server is down", lifetime: 600_000, down: 10_000..<60_000, deadTokens: [0]),
    Script(
      name: "revoked while the server is down for long", lifetime: 600_000, down: 40_000..<190_000,
      revokesAccess: [50_000]),
    Script(
      name: "revoked, and the client is not known until its secret is replaced", lifetime: 600_000,
      revokesAccess: [20_000], refusesClient: 10_000..<80_000, secretChanges: [80_000]),
    Script(
      name: "the client's secret is replaced too early, and again", lifetime: 60_000, revokesAccess: [20_000],
      refusesClient: 10_000..<60_000, secretChanges: [40_000, 60_000]),
    Script(
      name: "revoked with its refresh token, until a person places another one", lifetime: 600_000,
      revokesAccess: [50_000], revokesRefresh: 50_000, places: 100_000),
    Script(
      name: "revoked with its refresh token, until a person logs in", lifetime: 600_000, revokesAccess: [50_000],
      revokesRefresh: 50_000, login: 100_000),
    Script(
      name: "another refresh token while the server is down", lifetime: 600_000, down: 60_000..<120_000,
      revokesAccess: [50_000], revokesRefresh: 50_000, places: 90_000),
    Script(
      name: "a dead token, and the disk is full", lifetime: 600_000, diskFails: 10_000..<70_000, deadTokens: [0]),
    Script(
      name: "all are rejected for a while, and the server is down", down: 60_000..<90_000, rejectsAll: 40_000..<100_000),
    Script(
      name: "dead, and what is left of a token is handed out", lifetime: 60_000, grantsEnded: 5_000..<9_000,
      deadTokens: [0]),
    Script(name: "rejected until a person logs in", lifetime: 600_000, rejectsAll: 40_000..<100_000, login: 100_000),
    Script(name: "the machine sleeps", sleeps: 50_000..<170_000),
  ]

  @Test(arguments: scripts, [1, 2, 3] as [UInt64])
  func `no rule is broken, and in the end requests go out`(script: Script, seed: UInt64) {
    var world = World(script, seed: seed, crashAt: nil)
    world.play()
    #expect(world.broken == [])
    #expect(world.worksInTheEnd())
    #expect(world.loginsTold <= 1)
  }

  @Test(arguments: scripts)
  func `nor when the process is killed, at whatever step`(script: Script) {
    var world = World(script, seed: 7, crashAt: nil)
    world.play()
    for step in 0..<world.steps {
      var world = World(script, seed: 7, crashAt: step)
      world.play()
      guard world.broken.isEmpty, world.worksInTheEnd() else {
        Issue.record("killed at step \(step): \(world.broken), \(world.answered.sorted { $0.key < $1.key }.suffix(3))")
        return
      }
    }
  }
}
