internal import Console
internal import Configuration
internal import Glibc
internal import System

/// Other configurations: of the daemon under test, and of others beside it.
extension SelftestStage {
  /// Puts a changed one to use for as long as `body` runs.
  func reloaded(_ change: (inout TestConfiguration) -> Void, during body: () throws -> Void) throws {
    var changed = standIn
    change(&changed)
    try reload(changed)
    defer { try? reload(standIn) }
    try body()
  }

  private func reload(_ standIn: TestConfiguration) throws {
    try directory.write("bearerd.yaml", standIn.text)
    let client = ControlClient(path: "\(directory.path)/\(standIn.control)")
    _ = try client.demand("reload", seconds: 10)
  }

  // MARK: another daemon

  /// Starts another one beside it, as long as `body` runs.
  /// - Parameters:
  ///   - mode: of its configuration.
  ///   - more: lines behind those of the derived configuration.
  func another<Result>(
    _ change: (inout TestConfiguration) -> Void = { _ in }, mode: UInt32 = 0o600, more: String = "",
    during body: (SelftestDaemon) throws -> Result
  ) throws -> Result {
    var changed = standIn
    changed.control = "other.sock"
    changed.number = daemons
    daemons += 1
    change(&changed)
    let name = "other-\(changed.number).yaml"
    let file = "\(directory.path)/\(name)"
    try directory.write(name, changed.text + more)
    chmod(file, mode)
    defer { unlink(file) }
    return try body(
      SelftestDaemon(
        configuration: file, signals: SignalDescriptor(Interruption.signals)))
  }

  /// The daemon must not start under such a configuration.
  func refuseToStart(
    _ tried: String, _ tally: inout AttackTally, mode: UInt32 = 0o600, more: String = "",
    _ change: (inout TestConfiguration) -> Void = { _ in }
  ) throws {
    let isReady = try another(change, mode: mode, more: more) { $0.isReady }
    if !isReady { tally.refused += 1 }
    tally.check(!isReady, tried, seen: "bearerd starts", expected: "bearerd refuses to start")
  }
}
