internal import Console
internal import Setup
internal import Glibc
internal import System

/// The configuration that `check` judges: a file where it stands, or a text that is going to stand somewhere.
struct CheckedSource {
  /// The path at which it stands, or will.
  let path: String
  /// nil: what stands at `path`.
  let text: [UInt8]?

  /// As for a configuration that is read from its file.
  private static let most = 1 << 20

  /// - Parameters:
  ///   - file: `-` is standard input.
  ///   - place: where it is going to stand; nil: where it is, and standard input as the usual file.
  init(_ file: String, place: String?) throws {
    if file == "-" {
      path = absolute(place ?? ConfigurationLoader.defaultFile)
      text = try Self.standardInput()
    } else if let place {
      path = absolute(place)
      let from = absolute(file)
      try DryRun.read(from)
      do throws(SystemError) {
        text = try FileReader.read(path: from, maximum: Self.most).bytes
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
    while text.count <= most {
      let count = Glibc.read(STDIN_FILENO, &buffer, buffer.count)
      if count == 0 { return text }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        throw Failure(Failure.usage, "standard input cannot be read: \(String(cString: strerror(errno)))")
      }
      text += buffer[..<count]
    }
    throw Failure(Failure.usage, "standard input has more than \(most) bytes, the maximum size of a configuration")
  }
}
