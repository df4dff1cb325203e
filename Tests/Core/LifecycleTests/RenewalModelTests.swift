import Lifecycle
import Testing

/// Runs a renewal in simulations with scripted faults, and with a crash at every step.
@Suite struct RenewalModelTests {
  static let scripts: [Script] = [
    Script(name: "no faults"),
    Script(name: "no rotation", rotates: false),
    Script(name: "all steps are immediate", responseDelay: 0, storeDelay: 0),
    Script(
      name: "failures are immediate", responseDelay: 0, storeDelay: 0, down: 25_000..<60_000,
      diskFails: 80_000..<120_000),
    Script(name: "logout when all steps are immediate", responseDelay: 0, storeDelay: 0, logout: 60_000, login: 90_000),
    Script(name: "the server is slow", responseDelay: 9_000),
    Script(name: "the disk is slow", storeDelay: 4_000),
    Script(name: "down for a moment", down: 25_000..<29_000),
    Script(name: "down for long", down: 25_000..<150_000),
    Script(name: "down from the start", down: 0..<60_000),
    Script(name: "down, with Retry-After", down: 30_000..<40_000, retryAfter: 45_000),
    Script(name: "responses are lost", losesResponses: 20_000..<120_000),
    Script(name: "responses are lost, without rotation", rotates: false, losesResponses: 20_000..<120_000),
    Script(name: "the disk is full", diskFails: 30_000..<100_000),
    Script(name: "the disk is full from the start", diskFails: 0..<50_000),
    Script(name: "the disk is full while the server is down", down: 60_000..<90_000, diskFails: 30_000..<100_000),
    Script(name: "tokens live for ten seconds", lifetime: 10_000),
    Script(name: "tokens have no lifetime", lifetime: nil, revokesAccess: [50_000, 50_100, 120_000]),
    Script(name: "tokens are revoked", lifetime: 60_000, revokesAccess: [10_000, 60_000, 61_000, 62_000, 150_000]),
    Script(name: "revoked while the server is down", down: 40_000..<80_000, revokesAccess: [45_000]),
    Script(name: "the upstream rejects all", lifetime: 60_000, rejectsAll: 40_000..<140_000),
    Script(name: "logout and login", logout: 60_000, login: 90_000),
    Script(name: "login while the server is down", down: 50_000..<150_000, login: 90_000),
    Script(name: "the grant is revoked, then the user logs in", revokesRefresh: 60_000, login: 120_000),
    Script(name: "the server issues cached tokens that have expired", lifetime: 20_000, grantsEnded: 18_000..<19_500),
    Script(name: "the server issues expired tokens for a minute", rotates: true, grantsEnded: 30_000..<90_000),
    Script(name: "the server issues expired tokens, and the disk is slow", storeDelay: 2_000, grantsEnded: 0..<40_000),
    // With dead tokens, for which the breaker suspends requests. An action of the user takes effect immediately.
    Script(name: "a dead token", lifetime: 60_000, deadTokens: [0]),
    Script(name: "three dead tokens in a row", lifetime: 60_000, deadTokens: [0, 1, 2]),
    Script(name: "every second token is dead", lifetime: 30_000, deadTokens: Set(stride(from: 0, to: 40, by: 2))),
    Script(name: "a dead token while the server is down", lifetime: 600_000, down: 10_000..<60_000, deadTokens: [0]),
    Script(
      name: "revoked while the server is down for long", lifetime: 600_000, down: 40_000..<190_000,
      revokesAccess: [50_000]),
    Script(
      name: "revoked, and the client is rejected until its secret is replaced", lifetime: 600_000,
      revokesAccess: [20_000], refusesClient: 10_000..<80_000, secretChanges: [80_000]),
    Script(
      name: "the client secret is replaced too early, then again", lifetime: 60_000, revokesAccess: [20_000],
      refusesClient: 10_000..<60_000, secretChanges: [40_000, 60_000]),
    Script(
      name: "revoked with the refresh token, until the user replaces the refresh token", lifetime: 600_000,
      revokesAccess: [50_000], revokesRefresh: 50_000, replacesRefresh: 100_000),
    Script(
      name: "revoked with the refresh token, until the user logs in", lifetime: 600_000, revokesAccess: [50_000],
      revokesRefresh: 50_000, login: 100_000),
    Script(
      name: "the refresh token is replaced while the server is down", lifetime: 600_000, down: 60_000..<120_000,
      revokesAccess: [50_000], revokesRefresh: 50_000, replacesRefresh: 90_000),
    Script(
      name: "a dead token, and the disk is full", lifetime: 600_000, diskFails: 10_000..<70_000, deadTokens: [0]),
    Script(
      name: "all tokens are rejected for a while, and the server is down", down: 60_000..<90_000,
      rejectsAll: 40_000..<100_000),
    Script(
      name: "a dead token, and the server issues expired tokens", lifetime: 60_000, grantsEnded: 5_000..<9_000,
      deadTokens: [0]),
    Script(
      name: "all tokens are rejected until the user logs in", lifetime: 600_000, rejectsAll: 40_000..<100_000,
      login: 100_000),
    Script(name: "the machine sleeps", sleeps: 50_000..<170_000),
  ]

  @Test(arguments: scripts, [1, 2, 3] as [UInt64])
  func `renewals break no rule, and requests succeed again after all faults`(script: Script, seed: UInt64) {
    var simulation = Simulation(script, seed: seed, crashAt: nil)
    simulation.play()
    #expect(simulation.violations == [])
    #expect(simulation.hasRecovered())
    #expect(simulation.loginNotices <= 1)
  }

  @Test(arguments: scripts)
  func `renewals recover from a crash at every step`(script: Script) {
    var simulation = Simulation(script, seed: 7, crashAt: nil)
    simulation.play()
    for step in 0..<simulation.steps {
      var simulation = Simulation(script, seed: 7, crashAt: step)
      simulation.play()
      guard simulation.violations.isEmpty, simulation.hasRecovered() else {
        Issue.record(
          "killed at step \(step): \(simulation.violations), \(simulation.outcomes.sorted { $0.key < $1.key }.suffix(3))"
        )
        return
      }
    }
  }
}
