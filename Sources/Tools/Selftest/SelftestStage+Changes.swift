internal import Console
internal import Glibc
internal import System

extension SelftestStage {
  /// Reloads the daemon with a changed configuration, runs `body`, and reloads the original configuration.
  func withChangedConfiguration(_ change: (inout TestConfiguration) -> Void, during body: () throws -> Void) throws {
    var changed = testConfiguration
    change(&changed)
    try reload(changed)
    defer { try? reload(testConfiguration) }
    try body()
  }

  private func reload(_ configuration: TestConfiguration) throws {
    try directory.write("bearerd.yaml", configuration.text)
    let client = ControlClient(path: "\(directory.path)/\(configuration.control)")
    _ = try client.responseText(to: "reload", seconds: 10)
  }

  // MARK: another daemon

  /// Runs an additional daemon with a changed configuration during `body`.
  /// - Parameter more: Lines to append to the configuration.
  func withAnotherDaemon<Result>(
    _ change: (inout TestConfiguration) -> Void = { _ in }, mode: UInt32 = 0o600, more: String = "",
    during body: (StartedDaemon) throws -> Result
  ) throws -> Result {
    var changed = testConfiguration
    changed.control = "other.sock"
    changed.number = daemonCount
    daemonCount += 1
    change(&changed)
    let name = "other-\(changed.number).yaml"
    let file = "\(directory.path)/\(name)"
    try directory.write(name, changed.text + more)
    chmod(file, mode)
    defer { unlink(file) }
    return try body(StartedDaemon(configuration: file, signals: SignalDescriptor(Interruption.signals)))
  }

  /// Checks that bearerd refuses to start with a changed configuration.
  func expectStartFailure(
    _ tried: String, _ tally: inout AttackTally, mode: UInt32 = 0o600, more: String = "",
    _ change: (inout TestConfiguration) -> Void = { _ in }
  ) throws {
    let isReady = try withAnotherDaemon(change, mode: mode, more: more) { $0.isReady }
    if !isReady { tally.refused += 1 }
    tally.check(!isReady, tried, seen: "bearerd starts", expected: "bearerd refuses to start")
  }
}
