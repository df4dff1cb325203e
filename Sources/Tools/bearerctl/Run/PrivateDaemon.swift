internal import Console
internal import System

/// A daemon on free ports that ends with this process, also when that has become another program.
final class PrivateDaemon: ListenerPorts {
  let isPrivate = true
  private let process: ChildProcess
  private var ports: [String: [UInt16]] = [:]
  /// The lines of its log that say what does not work.
  private(set) var unusable: [String] = []

  /// Milliseconds until it serves.
  private static let patience: UInt64 = 20_000

  /// Starts it, and waits until it serves.
  /// - Parameter isAudited: whether it writes the audit file, if the configuration has one.
  init(configuration: String, isAudited: Bool = true) throws {
    process = try InstalledDaemon.startPrivate(
      configuration: configuration, isAudited: isAudited, as: ConfigurationHome(configuration).systemUser)
    let deadline = Clock.monotonicMicroseconds + Self.patience * 1_000
    let log = DaemonLog(descriptor: process.standardError)
    var said = ""
    while case let now = Clock.monotonicMicroseconds, now < deadline,
      let line = try log.next(patience: Int32(clamping: (deadline - now) / 1_000 + 1))
    {
      said += line + "\n"
      if let listener = Self.word("listener", in: line), line.contains("event=listening"),
        let port = Self.word("address", in: line)?.split(separator: ":").last.flatMap({ UInt16($0) })
      {
        ports[listener, default: []].append(port)
      }
      if line.contains("level=error") || line.contains("event=credential-unavailable") { unusable.append(line) }
      if line.contains("event=ready") { return }
    }
    process.stop(patience: 0)
    let hint =
      said.contains("audit")
      ? "\nOnly one daemon at a time can write an audit file. Keep one running, and use that one." : ""
    throw Failure(Failure.system, "bearerd did not start. Its output:\n\(said)\(hint)")
  }

  func ports(of listener: String) -> [UInt16] { ports[listener] ?? [] }

  private static func word(_ name: String, in line: String) -> String? {
    line.split(separator: " ").first { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.count + 1)) }
  }
}
