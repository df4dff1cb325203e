import Foundation
import Testing

/// One run of `bearerctl`, as built beside the tests, from the same tree.
struct Run {
  let status: Int32
  let output: String
  let errors: String

  /// Without a terminal, and without what the environment would add.
  @discardableResult
  init(_ arguments: String..., environment: [String: String] = [:]) throws {
    try self.init(program: Self.binary, arguments, environment: environment)
  }

  init(program: String, _ arguments: [String], environment: [String: String] = [:]) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    process.environment = ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent"].merging(environment) { $1 }
    let (output, errors) = (Pipe.private, Pipe.private)
    process.standardOutput = output.fileHandleForWriting
    process.standardError = errors.fileHandleForWriting
    process.standardInput = FileHandle.nullDevice
    try process.run()
    try output.fileHandleForWriting.close()
    try errors.fileHandleForWriting.close()
    // Both are small: neither fills its pipe while the other is read.
    let text = output.fileHandleForReading.readDataToEndOfFile()
    let complaint = errors.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    status = process.terminationReason == .exit ? process.terminationStatus : 128 + process.terminationStatus
    self.output = String(decoding: text, as: UTF8.self)
    self.errors = String(decoding: complaint, as: UTF8.self)
  }

  static var directory: String {
    let argument = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? CommandLine.arguments[0]
    return (argument as NSString).deletingLastPathComponent
  }

  static var binary: String { directory + "/bearerctl" }
}

extension Pipe {
  /// One that a process which another test starts at the same time does not inherit: its end would never come.
  static var `private`: (fileHandleForReading: FileHandle, fileHandleForWriting: FileHandle) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { fatalError("pipe: \(errno)") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (
      FileHandle(fileDescriptor: ends[0], closeOnDealloc: true),
      FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
    )
  }
}

/// A directory of one test's own, gone with it.
final class Scratch {
  let path: String

  init() throws {
    path = NSTemporaryDirectory() + "bearerctl-test-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    chmod(path, 0o700)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  @discardableResult
  func write(_ name: String, _ text: String, mode: mode_t = 0o600) throws -> String {
    try write(name, Data(text.utf8), mode: mode)
  }

  @discardableResult
  func write(_ name: String, _ data: Data, mode: mode_t = 0o600) throws -> String {
    let file = "\(path)/\(name)"
    let directory = (file as NSString).deletingLastPathComponent
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    chmod(directory, 0o700)
    try data.write(to: URL(fileURLWithPath: file))
    chmod(file, mode)
    return file
  }

  /// What a run printed, with this directory written `DIR`, and who runs the tests `ME`.
  func plain(_ text: String) -> String {
    text.replacingOccurrences(of: path, with: "DIR")
      .replacingOccurrences(of: "\(NSUserName()) (uid \(getuid()))", with: "ME")
      .replacingOccurrences(of: "; \(NSUserName()) can read it", with: "; ME can read it")
  }
}

/// A configuration of `config/examples`, with users and groups that this machine has.
func example(_ name: String, in scratch: Scratch) throws -> String {
  let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
    "../../config/examples")
  let text = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
    .replacingOccurrences(of: "[dev, deploy]", with: "[\(getuid()), 65533]")
    .replacingOccurrences(of: "[dev]", with: "[\(getuid())]")
    .replacingOccurrences(of: "[developers]", with: "[\"\(String(cString: getgrgid(getgid()).pointee.gr_name))\"]")
  return try scratch.write(name, text, mode: 0o644)
}

func exampleNames() -> [String] {
  let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
    "../../config/examples")
  let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
  return names.filter { $0.hasSuffix(".yaml") }.sorted()
}
