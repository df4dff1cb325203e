/// Threats that cannot be played from outside, and what proves them instead; and those of what is not built yet.
enum Unplayed {
  static let all = [
    unplayed(
      38, "false token endpoints", "the selftest has no authorization server", ["EndToEnd.TokenEndpointsAreApart"]),
    unplayed(39, "lost refreshes", "the selftest has no authorization server", ["EndToEnd.LoginsSurvive"]),
    unplayed(
      46, "logout that is none", "the selftest has no authorization server",
      ["EndToEnd.LogoutsEndWhatUsesThem", "AdminTests.LogoutsStay"]),
    unplayed(
      65, "excluded names and wildcards", "the selftest's authority has no constraints",
      ["TLSTests.NameConstraintsTests"]),
    unplayed(
      66, "no forward secrecy", "the selftest's upstream speaks TLS 1.3", ["TLSTests.ForwardSecrecyTests"]),
    unplayed(
      67, "a dead credential that is sent on", "the selftest has no authorization server",
      ["LifecycleTests.RenewalModelTests", "ProvidersTests.DeadTokensStay"]),
    unplayed(
      68, "renewals that a shutdown cuts off", "the selftest has no authorization server",
      ["EndToEnd.RenewalsOutliveTheirEnd"]),
    unplayed(53, "timing", "noise hides it here", ["CredentialsTests.CompileTests", "PolicyTests.ClientTokenTests"]),
    unplayed(57, "clocks that jump", "nobody can set a clock for one program alone", ["EndToEnd.ClocksThatJump"]),
    unplayed(
      59, "memory at the border to C", "a build with sanitizers shows more than a crash does",
      ["HTTP1Tests.RandomBytesTests", "TLSTests.HostileBytesTests"]),
    unbuilt(27, "HTTP/2 coalescing", "speaks no HTTP/2"), unbuilt(31, "a proxy on the way out", "asks no proxy"),
    unbuilt(37, "shared caches", "marks no answer as private"),
  ]

  /// - Parameter tests: suites, as the row of docs/security/threats.md names them.
  private static func unplayed(_ id: Int, _ title: String, _ reason: String, _ tests: [String]) -> Attack {
    Attack(id, title) { _ in .skipped("\(reason); see \(tests.joined(separator: ", "))") }
  }

  private static func unbuilt(_ id: Int, _ title: String, _ what: String) -> Attack {
    Attack(id, title) { _ in .skipped("planned: this version \(what)") }
  }
}
