internal import Console
internal import Loading
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
      text = try StandardInput.read(maximum: Self.limit, of: "a configuration")
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
}
