internal import Console
internal import Loading
internal import System

/// Finds files of a configuration whose file system does not respond (T55), with a second process.
struct DryRun {
  /// Secret files whose file system does not respond.
  let silent: Set<String>

  /// Time limit for the second process, in seconds.
  private static let timeout = 5

  /// - Parameters:
  ///   - user: The user that the daemon runs as; `nil` for the current user.
  ///   - text: The configuration to use instead of the file; `nil` to read the file.
  init(_ file: String, as user: UInt32?, text: [UInt8]? = nil) throws {
    let found = TimeLimitedProcess.lines(milliseconds: DryRun.timeout * 1_000) { report in
      for path in ConfigurationLoader.findUnresponsiveFiles(file, as: user, text: text, onStep: { report("s\($0)") }) {
        report("u\(path)")
      }
    }
    try DryRun.checkTimeout(found)
    silent = Set((found?.lines ?? []).lazy.filter { $0.hasPrefix("u") }.map { String($0.dropFirst()) })
  }

  /// Throws `Failure` if the file system of the configuration file does not respond.
  static func read(_ file: String) throws {
    try checkTimeout(
      TimeLimitedProcess.lines(milliseconds: timeout * 1_000) { report in
        report("s\(file)")
        _ = try? FileReader.read(path: file, maximum: 1 << 20)
      })
  }

  /// Returns the owner of a file; `nil` if it does not exist.
  static func owner(of file: String) throws -> UInt32? {
    let found = TimeLimitedProcess.lines(milliseconds: timeout * 1_000) { report in
      report("s\(file)")
      if let status = FileStatus(path: file) { report("o\(status.owner)") }
    }
    try checkTimeout(found)
    return found?.lines.first { $0.hasPrefix("o") }.flatMap { UInt32($0.dropFirst()) }
  }

  private static func checkTimeout(_ found: (lines: [String], isLate: Bool)?) throws {
    guard let found, found.isLate, let step = found.lines.last(where: { $0.hasPrefix("s") }) else { return }
    throw Failure(
      Failure.system,
      "a file system does not respond: \(String(step.dropFirst()).harmless) is still being read after \(timeout) s. Check whether its file server is available"
    )
  }
}
