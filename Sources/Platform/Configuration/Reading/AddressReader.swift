internal import Policy
import Primitives
package import Settings

/// Reads the addresses of listeners and of services with their own port.
struct AddressReader: SectionReader {
  let context: ReadingContext

  /// Parses an address like `localhost:PORT`, `127.0.0.1:PORT` or `unix:/PATH`, with `mode` for a Unix socket.
  func address(_ text: String, at location: TextLocation, mode: UInt32) -> ListenerSettings.Address? {
    if text.hasPrefix("unix:") { return unix(String(text.dropFirst("unix:".utf8.count)), at: location, mode: mode) }
    if text.hasPrefix("systemd:") { return systemd(String(text.dropFirst("systemd:".utf8.count)), at: location) }
    guard let (host, port) = splitPort(text) else {
      let help =
        decimal(text).map { "write localhost:\($0)" }
        ?? "write localhost:PORT, 127.0.0.1:PORT, [::1]:PORT, unix:/PATH or systemd:NAME"
      return report.error(location, "\(quoted(text)) is not an address", help: help)
    }
    if ASCII.lowercased(host) == "localhost" { return .localhost(port: port) }
    let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
    let literal = isBracketed ? String(host.dropFirst().dropLast()) : host
    guard let address = IPAddress(parsing: literal), (address.bytes.count == 16) == isBracketed else {
      return report.error(
        location,
        host.isEmpty
          ? "the address before the port is missing"
          : "bearerd cannot listen on \(quoted(host)): expected localhost, or an IP address like 127.0.0.1 or [::1]",
        help: "write localhost:\(port), or unix:/PATH for containers")
    }
    if address.bytes.count == 16, !environment.hasIPv6 {
      report.warning(location, "this machine has no IPv6")
    }
    return .tcp(address, port: port)
  }

  /// Checks that the path of a socket is not too long (unix(7)).
  func checkLength(ofSocketPath path: String, at location: TextLocation) -> Bool {
    let maxBytes = 107
    guard path.utf8.count > maxBytes else { return true }
    report.error(
      location, "the path has \(path.utf8.count) bytes: the path of a socket can have at most \(maxBytes)")
    return false
  }

  private func unix(_ path: String, at location: TextLocation, mode: UInt32) -> ListenerSettings.Address? {
    guard path.hasPrefix("/"), !path.hasSuffix("/") else {
      return report.error(
        location,
        "\(quoted(path)) is not the path of a socket: expected a slash at its beginning, and the name of a file at its end",
        help: "write unix:/run/bearerd/bearerd.sock"
      )
    }
    guard checkLength(ofSocketPath: path, at: location) else { return nil }
    if let problem = environment.socketProblem(path) {
      // Other problems are errors. After an error at the start, systemd does not start the daemon again (T9).
      if problem.isPassing {
        report.warning(location, problem.message, help: problem.help)
      } else {
        report.error(location, problem.message, help: problem.help)
      }
    }
    return .unix(path: path, mode: mode)
  }

  private func systemd(_ name: String, at location: TextLocation) -> ListenerSettings.Address? {
    guard Named.isName(name) else {
      return report.error(
        location,
        "the name after \"systemd:\" is not valid: expected the FileDescriptorName of the socket unit, with only letters, digits, \"_\", \"-\" and \".\"",
        help: "write systemd:main, and FileDescriptorName=main in the socket unit")
    }
    return .systemd(name: name)
  }

  /// Splits `host:port` at the last colon, and returns `nil` if no valid port follows.
  func splitPort(_ text: String) -> (host: String, port: UInt16)? {
    guard let colon = text.lastIndex(of: ":") else { return nil }
    let digits = String(text[text.index(after: colon)...])
    guard digits.utf8.count <= 5, let port = decimal(digits).flatMap({ UInt16(exactly: $0) }) else { return nil }
    return (String(text[..<colon]), port)
  }
}

extension ListenerSettings.Address {
  /// Whether two listeners cannot have these addresses at the same time.
  package func collides(with other: ListenerSettings.Address) -> Bool {
    switch (self, other) {
    case (.unix(let one, _), .unix(let other, _)): one == other
    case (.systemd(let one), .systemd(let other)): one == other
    case (.unix, .localhost), (.unix, .tcp), (.localhost, .unix), (.tcp, .unix): false
    case (.systemd, _), (_, .systemd): false
    case (.localhost(let one), .localhost(let other)): one == other && one != 0
    case (.tcp(let one, let port), .tcp(let other, let otherPort)):
      port == otherPort && port != 0 && one.bytes.count == other.bytes.count
        && (one == other || one.isUnspecified || other.isUnspecified)
    case (.localhost(let port), .tcp(let address, let other)), (.tcp(let address, let other), .localhost(let port)):
      port == other && port != 0 && (address.isUnspecified || Self.localhost.contains(address.description))
    }
  }

  /// Returns the address with this port instead of port 0. Unix and systemd sockets remain unchanged.
  package func bound(to port: UInt16) -> ListenerSettings.Address {
    switch self {
    case .localhost: .localhost(port: port)
    case .tcp(let address, _): .tcp(address, port: port)
    case .unix, .systemd: self
    }
  }

  /// Whether a connection to `host` and `port` can reach a listener at this address.
  func receivesConnections(to host: HostName, port: UInt16) -> Bool {
    guard port != 0 else { return false }
    switch (self, host) {
    // Sockets from systemd are compared later, when they have been inherited.
    case (.unix, _), (.systemd, _): return false
    case (.localhost(let own), .name), (.tcp(_, let own), .name): return own == port && host.isLocal
    case (.localhost(let own), .address(let address)):
      return own == port && Self.localhost.contains(address.description)
    case (.tcp(let own, let ownPort), .address(let address)):
      return ownPort == port && (own == address || own.isUnspecified && address.isLoopback)
    }
  }

  /// Whether a URL with `host` and `port` can lead to this address, if all local names and addresses count as equal.
  func isAddressed(by host: HostName, port own: UInt16) -> Bool {
    if receivesConnections(to: host, port: own) { return true }
    guard own != 0, host.isLocal else { return false }
    switch self {
    case .localhost(let port): return port == own
    case .tcp(let ip, let port): return port == own && ip.isLoopback
    case .unix, .systemd: return false
    }
  }

  /// The TCP port, `nil` for a Unix socket, and 0 if the port is not known yet.
  var port: UInt16? {
    switch self {
    case .localhost(let port), .tcp(_, let port): port
    case .unix: nil
    case .systemd: 0
    }
  }

  private static let localhost = ["127.0.0.1", "::1"]
}
