import Foundation
import ServerSupport
import TestSupport

/// The calendar of a daemon under test, which can be set while it runs. Its other clocks go on as they are, as they do when
/// a machine's time is corrected.
struct SteppedClock {
  private let scratch: Scratch

  init(_ scratch: Scratch) throws {
    self.scratch = scratch
    try step(0)
  }

  /// Starts the daemon of the stage with it.
  func start(_ stage: Stage, _ configuration: String) throws {
    guard let library = Self.library else { throw TestFailure("there is no libfaketime: make test-deps installs it") }
    // The library adds a variable, which moves the environment, and Swift finds its arguments by where that was: with env
    // it has been added before.
    let daemon = try stage.start(
      configuration,
      environment: [
        "LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": scratch.path + "/clock", "FAKETIME_NO_CACHE": "1",
        "DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1",
      ], wrapper: ["/usr/bin/env"])
    // It shares its settings with children, and nobody would clear them away.
    for name in ["faketime_shm_", "sem.faketime_sem_"] { unlink("/dev/shm/\(name)\(daemon.pid)") }
  }

  /// To so many seconds before or after the true time, from the next look at it on.
  func step(_ seconds: Int) throws {
    try scratch.write("clock", seconds < 0 ? "\(seconds)\n" : "+\(seconds)\n", mode: 0o644)
  }

  /// The sanitizers stand where it wants to stand.
  static let isPossible = !isSanitized

  private static let library: String? = {
    let parents = ["/usr/lib", "/usr/lib64", "/usr/local/lib"]
    let below = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib").map { "/usr/lib/" + $0 }) ?? []
    return (parents + below).map { $0 + "/faketime/libfaketimeMT.so.1" }
      .first { FileManager.default.fileExists(atPath: $0) }
  }()
}
