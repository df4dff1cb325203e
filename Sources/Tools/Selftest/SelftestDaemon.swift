internal import Console
internal import Glibc
internal import System

/// The installed `bearerd`, under the throw-away configuration.
final class SelftestDaemon {
  /// The address at which a listener answers.
  enum Place {
    /// `hosts`: what its sockets are bound to.
    case port(UInt16, hosts: [String])
    case unix(String)
  }
  let processID: Int32
  /// By the listener's name.
  private(set) var places: [String: Place] = [:]
  /// Everything that it said.
  private(set) var text = ""
  private let process: ChildProcess
  private let lines: DaemonLog
  /// False: it has ended instead, or says nothing.
  private(set) var isReady = false

  /// Starts it, and waits until it serves.
  init(configuration: String, signals: SignalDescriptor) throws {
    process = try InstalledDaemon.start(configuration: configuration)
    processID = process.processID
    lines = DaemonLog(descriptor: process.standardError, signals: signals)
    isReady = try waitForLine(20_000, where: { $0.contains("event=ready") })
    for line in text.split(separator: "\n") where line.contains(" event=listening ") { note(line) }
  }

  deinit { process.stop(patience: 3_000) }

  /// Reads what the daemon has said. Throws when the user interrupts.
  func drain() throws {
    while let line = try lines.next(patience: 0) { text += line + "\n" }
  }

  /// False: no such line came within these milliseconds.
  func waitForLine(_ patience: Int32, where condition: (String) -> Bool) throws -> Bool {
    while let line = try lines.next(patience: patience) {
      text += line + "\n"
      if condition(line) { return true }
    }
    return false
  }

  private func note(_ line: Substring) {
    func value(_ name: String) -> String? {
      line.firstRange(of: " \(name)=").map { String(line[$0.upperBound...].prefix { $0 != " " }) }
    }
    guard let listener = value("listener"), let address = value("address") else { return }
    if address.hasPrefix("unix:") {
      // A listener with both is taken by its port, which more programs can reach.
      if places[listener] == nil { places[listener] = .unix(String(address.dropFirst("unix:".count))) }
      return
    }
    guard let colon = address.lastIndex(of: ":"), let port = UInt16(address[address.index(after: colon)...]) else {
      return
    }
    let host = String(address[..<colon])
    switch places[listener] {
    case .port(port, let hosts): places[listener] = .port(port, hosts: hosts + [host])
    case .port: return
    case .unix, nil: places[listener] = .port(port, hosts: [host])
    }
  }
}
