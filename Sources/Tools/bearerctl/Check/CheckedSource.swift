internal import Console
internal import Loading
internal import Glibc
internal import System

/// The configuration that `bearerctl check` reads: a file, or a text that the user will install later.
struct CheckedSource {
  /// The path of the configuration file, or where the user will install the text.
  let path: String
  /// The text to check; `nil` to read the file at `path`.
  let text: [UInt8]?

  /// Maximum size of the text, in bytes.
  private static let limit = 1 << 20

  /// - Parameters:
  ///   - file: The file to read, or `-` for standard input.
  ///   - targetPath: The path at which the user will install the text; `nil` for `file` or the default path.
  init(_ file: String, targetPath: String?) throws {
    if file == "-" {
      path = absolute(targetPath ?? ConfigurationLoader.defaultFile)
      text = try Self.standardInput()
    } else if let targetPath {
      path = absolute(targetPath)
      let from = absolute(file)
      try DryRun.read(from)
      do throws(SystemError) {
        text = try FileReader.read(path: from, maximum: Self.limit).bytes
      } catch {
        throw Failure(Failure.usage, "\(from.harmless) cannot be read: \(error)")
      }
    } else {
      (path, text) = (absolute(file), nil)
    }
  }

  private static func standardInput() throws -> [UInt8] {
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while text.count <= limit {
      let count = Glibc.read(STDIN_FILENO, &buffer, buffer.count)
      if count == 0 { return text }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        throw Failure(Failure.usage, "standard input cannot be read: \(String(cString: strerror(errno)))")
      }
      text += buffer[..<count]
    }
    throw Failure(Failure.usage, "standard input has more than \(limit) bytes, the maximum size of a configuration")
  }
}
