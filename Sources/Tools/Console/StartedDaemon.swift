package import System

/// The installed `bearerd` as a child process of the demo or the self-test.
package final class StartedDaemon {
  package enum Endpoint {
    /// A TCP port with the hosts on which the daemon listens.
    case port(UInt16, hosts: [String])
    case unix(String)

    package var port: UInt16? { if case .port(let port, _) = self { port } else { nil } }
  }

  package var processID: Int32 { process.processID }
  /// The addresses of the daemon's listeners, by listener name.
  package private(set) var endpoints: [String: Endpoint] = [:]
  package private(set) var output = ""
  package private(set) var isReady = false
  package let log: DaemonLog
  private let process: ChildProcess

  package init(configuration: String, signals: SignalDescriptor) throws {
    process = try InstalledDaemon.start(configuration: configuration)
    log = DaemonLog(descriptor: process.standardError, signals: signals)
    isReady = try waitForLine(20_000, where: { $0.contains("event=ready") })
    for line in output.split(separator: "\n") where line.contains(" event=listening ") { addEndpoint(from: line) }
  }

  deinit { process.stop(gracePeriod: 3_000) }

  /// Reads all available log lines. Throws `Interruption` if a signal has arrived.
  package func drain() throws {
    while let line = try log.next(timeout: 0) { output += line + "\n" }
  }

  /// Waits for a matching log line, at most `timeout` milliseconds after the previous line; `false` if none arrives.
  package func waitForLine(_ timeout: Int32, where condition: (String) -> Bool) throws -> Bool {
    while let line = try log.next(timeout: timeout) {
      output += line + "\n"
      if condition(line) { return true }
    }
    return false
  }

  private func addEndpoint(from line: Substring) {
    guard let listener = line.loggedValue("listener"), let address = line.loggedValue("address") else { return }
    if address.hasPrefix("unix:") {
      // If a listener has both, attacks use the port, because more programs can reach it.
      if endpoints[listener] == nil { endpoints[listener] = .unix(String(address.dropFirst("unix:".count))) }
      return
    }
    guard let colon = address.lastIndex(of: ":"), let port = UInt16(address[address.index(after: colon)...])
    else { return }
    let host = String(address[..<colon])
    switch endpoints[listener] {
    case .port(port, let hosts): endpoints[listener] = .port(port, hosts: hosts + [host])
    case .port: return
    case .unix, nil: endpoints[listener] = .port(port, hosts: [host])
    }
  }
}
