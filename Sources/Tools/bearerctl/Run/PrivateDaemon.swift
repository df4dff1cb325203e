internal import Console
internal import System

/// A daemon on free ports, which ends when this process ends.
final class PrivateDaemon: ListenerPorts {
  let isPrivate = true
  private let process: ChildProcess
  private var ports: [String: [UInt16]] = [:]
  /// The daemon's log lines about errors and unavailable credentials during its start.
  private(set) var unusable: [String] = []

  /// Maximum time until the daemon is ready, in milliseconds.
  private static let timeout: UInt64 = 20_000

  /// Starts the daemon, and waits until it is ready. `isAudited` is `false` to ignore the key `audit`.
  init(configuration: String, isAudited: Bool = true) throws {
    process = try InstalledDaemon.startPrivate(
      configuration: configuration, isAudited: isAudited, as: ConfigurationHome(configuration).systemUser)
    let deadline = Clock.monotonicMicroseconds + Self.timeout * 1_000
    let log = DaemonLog(descriptor: process.standardError)
    var output = ""
    while case let now = Clock.monotonicMicroseconds, now < deadline,
      let line = try log.next(timeout: Int32(clamping: (deadline - now) / 1_000 + 1))
    {
      output += line + "\n"
      if let listener = line.loggedValue("listener"), line.contains("event=listening"),
        let port = line.loggedValue("address")?.split(separator: ":").last.flatMap({ UInt16($0) })
      {
        ports[listener, default: []].append(port)
      }
      if line.contains("level=error") || line.contains("event=credential-unavailable") { unusable.append(line) }
      if line.contains("event=ready") { return }
    }
    process.stop(gracePeriod: 0)
    let hint =
      output.contains("audit")
      ? "\nOnly one daemon at a time can write an audit file. Keep one running, and use that one." : ""
    throw Failure(Failure.system, "bearerd did not start. Its output:\n\(output)\(hint)")
  }

  func ports(of listener: String) -> [UInt16] { ports[listener] ?? [] }
}
