import Foundation
import ServerSupport
import TestSupport

/// The wall clock of a daemon under test, which can be set while the daemon runs (libfaketime). The monotonic clock is
/// not affected, as when a machine's time is corrected.
struct SteppedClock {
  private let scratch: Scratch

  init(_ scratch: Scratch) throws {
    self.scratch = scratch
    try step(0)
  }

  /// Starts the stage's daemon with this clock.
  func start(_ stage: Stage, _ configuration: String) throws {
    guard let library = Self.library else { throw TestFailure("there is no libfaketime: make test-deps installs it") }
    // libfaketime adds a variable and so moves the environment, whose address Swift uses to find the arguments. With
    // env as the first program, the variable is already present.
    let daemon = try stage.start(
      configuration,
      environment: [
        "LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": scratch.path + "/clock", "FAKETIME_NO_CACHE": "1",
        "DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1",
      ], wrapper: ["/usr/bin/env"])
    // libfaketime shares its settings with child processes, and does not delete these files.
    for name in ["faketime_shm_", "sem.faketime_sem_"] { unlink("/dev/shm/\(name)\(daemon.pid)") }
  }

  /// Sets the clock to `seconds` after the true time, or before it if negative.
  func step(_ seconds: Int) throws {
    try scratch.write("clock", seconds < 0 ? "\(seconds)\n" : "+\(seconds)\n", mode: 0o644)
  }

  /// `false` under a sanitizer, which cannot be combined with libfaketime.
  static let isPossible = !isSanitized

  private static let library: String? = {
    let parents = ["/usr/lib", "/usr/lib64", "/usr/local/lib"]
    let below = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib").map { "/usr/lib/" + $0 }) ?? []
    return (parents + below).map { $0 + "/faketime/libfaketimeMT.so.1" }
      .first { FileManager.default.fileExists(atPath: $0) }
  }()
}
