internal import Console
internal import Crypto
internal import Glibc
internal import Policy
internal import Presets
internal import Secrets
internal import System

/// Writes the files of one service for `bearerctl add`, and removes them after a failure.
final class AddedFiles {
  private let home: ConfigurationHome
  private var lock: Int32?
  private var files: [String] = []
  private var directories: [String] = []
  /// Path of the main configuration file or listener file, if this command created it.
  private var first: String?

  init(in home: ConfigurationHome) throws {
    self.home = home
    try attempt(home.directory) { () throws(SystemError) in
      directories += try NewFile.createDirectory(home.directory, mode: 0o755)
      lock = try DirectoryLock.acquire(home.directory) {
        Terminal.printError("waiting until another \"bearerctl add\" has finished\n")
      }
    }
  }

  deinit { if let lock { close(lock) } }

  /// The paths of all written files, in the order in which bearerd reads the files.
  var written: [String] { (first.map { [$0] } ?? []) + files.reversed() }

  /// Writes the key file and the service file, and before them a missing main file or listener file.
  func write(_ service: AddedService, _ secret: borrowing IncomingSecret) throws {
    let (part, key) = (home.part(service.name), home.secret(service.name))
    try attempt(home.secrets) { () throws(SystemError) in
      directories += try NewFile.createDirectory(home.secrets, mode: home.secretsMode, group: home.secretGroup)
    }
    try attempt(home.parts) { () throws(SystemError) in
      directories += try NewFile.createDirectory(home.parts, mode: 0o755)
    }
    if let (path, text) = try home.firstFile(FirstConfiguration()) {
      try attempt(path) { () throws(SystemError) in
        try NewFile.create(path, text, mode: 0o644)
        first = path
      }
    }
    do throws(SystemError) {
      try secret.store(at: key, mode: home.secretMode, group: home.secretGroup)
      files.append(key)
    } catch { throw failure(key, error) }
    try attempt(part) { () throws(SystemError) in
      try NewFile.create(part, AddedFiles.marked(service.yaml(secretFile: key)), mode: 0o644)
      files.append(part)
    }
  }

  func undo() {
    for file in written.reversed() { try? NewFile.remove(file) }
    for directory in directories.reversed() { NewFile.removeDirectory(directory) }
    (files, directories, first) = ([], [], nil)
  }

  private func attempt(_ path: String, _ write: () throws(SystemError) -> Void) throws {
    do throws(SystemError) { try write() } catch { throw failure(path, error) }
  }

  private func failure(_ path: String, _ error: SystemError) -> Failure {
    undo()
    let what = error.alreadyExists ? "it already exists" : "\(error)"
    return Failure(Failure.no, "\(path) cannot be written: \(what). Nothing was changed")
  }

  private static let mark = "# "

  /// Returns the text with its hash in an additional last line.
  static func marked(_ text: String) -> String { text + "\(mark)\(hash(text))\n" }

  enum Origin { case untouched, changed, foreign }

  /// Returns `.foreign` if `bearerctl add` did not write the text, and `.changed` if the text was changed afterwards.
  static func origin(of text: String) -> Origin {
    guard text.contains("Written by \"bearerctl add ") else { return .foreign }
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    if lines.last == "" { lines.removeLast() }
    guard let last = lines.popLast(), last.hasPrefix(mark) else { return .changed }
    let rest = lines.joined(separator: "\n") + "\n"
    return last.dropFirst(mark.count) == hash(rest) ? .untouched : .changed
  }

  /// Returns the preset's name from a file that `bearerctl add` wrote; `nil` for other or unreadable files.
  static func preset(of file: String) -> String? {
    let start = "Written by \"bearerctl add "
    guard let text = try? FileReader.read(path: file, maximum: 1 << 20).bytes else { return nil }
    let line = String(decoding: text.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    return line.firstRange(of: start).map { String(line[$0.upperBound...].prefix { $0 != "\"" }) }
  }

  private static func hash(_ text: String) -> String {
    TokenDigest.of(Array(text.utf8).span).map { "\($0)" } ?? ""
  }
}
