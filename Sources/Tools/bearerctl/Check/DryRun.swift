internal import Console
internal import Setup
internal import System

/// Finds out, in a process that may wait for ever, what of a configuration does not answer: this one is to end (T55).
struct DryRun {
  /// Files of secrets that do not answer.
  let silent: Set<String>

  private static let patience = 5

  /// Throws if something does not answer without which nothing can be said.
  /// - Parameters:
  ///   - user: whom the daemon runs as.
  ///   - text: what will stand in the file; nil: what stands there.
  init(_ file: String, as user: UInt32?, text: [UInt8]? = nil) throws {
    let found = WaitingProcess.lines(milliseconds: DryRun.patience * 1_000) { say in
      for path in ConfigurationLoader.rehearse(file, as: user, text: text, onStep: { say("s\($0)") }) {
        say("u\(path)")
      }
    }
    try DryRun.demandEnd(found)
    silent = Set((found?.lines ?? []).lazy.filter { $0.hasPrefix("u") }.map { String($0.dropFirst()) })
  }

  /// Reads the file itself alone.
  static func read(_ file: String) throws {
    try demandEnd(
      WaitingProcess.lines(milliseconds: patience * 1_000) { say in
        say("s\(file)")
        _ = try? FileReader.read(path: file, maximum: 1 << 20)
      })
  }

  /// nil: there is no such file.
  static func owner(of file: String) throws -> UInt32? {
    let found = WaitingProcess.lines(milliseconds: patience * 1_000) { say in
      say("s\(file)")
      if let status = FileStatus(path: file) { say("o\(status.owner)") }
    }
    try demandEnd(found)
    return found?.lines.first { $0.hasPrefix("o") }.flatMap { UInt32($0.dropFirst()) }
  }

  private static func demandEnd(_ found: (lines: [String], isLate: Bool)?) throws {
    guard let found, found.isLate, let step = found.lines.last(where: { $0.hasPrefix("s") }) else { return }
    throw Failure(
      Failure.system,
      "a file system does not respond: \(String(step.dropFirst()).harmless) is still being read after \(patience) s. Check whether its file server is available"
    )
  }
}
