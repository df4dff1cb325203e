internal import Policy
import Primitives

/// The addresses of a listener. Only this machine can reach a loopback address or a unix socket; anything wider needs client
/// tokens.
extension SettingsReader {
  /// `localhost:PORT`, `127.0.0.1:PORT`, `[::1]:PORT`, another address, `unix:/PATH` or `systemd:NAME`.
  func address(_ text: String, at place: TextLocation, mode: UInt32) -> ListenerSettings.Address? {
    if text.hasPrefix("unix:") { return unix(String(text.dropFirst("unix:".utf8.count)), at: place, mode: mode) }
    if text.hasPrefix("systemd:") { return systemd(String(text.dropFirst("systemd:".utf8.count)), at: place) }
    guard let (host, port) = splitPort(text) else {
      let help =
        decimal(text).map { "write localhost:\($0)" }
        ?? "write localhost:PORT, 127.0.0.1:PORT, [::1]:PORT, unix:/PATH or systemd:NAME"
      report.error(place, "\(quoted(text)) is not an address", help: help)
      return nil
    }
    if ASCII.lowercased(host) == "localhost" { return .localhost(port: port) }
    let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
    let literal = isBracketed ? String(host.dropFirst().dropLast()) : host
    guard let address = IPAddress(parsing: literal), (address.bytes.count == 16) == isBracketed else {
      report.error(
        place,
        host.isEmpty
          ? "the address before the port is missing"
          : "bearerd cannot listen on \(quoted(host)): expected localhost, or an IP address like 127.0.0.1 or [::1]",
        help: "write localhost:\(port), or unix:/PATH for containers")
      return nil
    }
    if address.bytes.count == 16, !environment.hasIPv6 {
      report.warning(place, "this machine has no IPv6")
    }
    return .tcp(address, port: port)
  }

  private func unix(_ path: String, at place: TextLocation, mode: UInt32) -> ListenerSettings.Address? {
    guard path.hasPrefix("/"), !path.hasSuffix("/") else {
      report.error(
        place,
        "\(quoted(path)) is not the path of a socket: expected a slash at its beginning, and the name of a file at its end",
        help: "write unix:/run/bearerd/bearerd.sock"
      )
      return nil
    }
    guard path.utf8.count <= Self.longestSocketPath else {
      report.error(
        place, "the path has \(path.utf8.count) bytes: the path of a socket can have at most \(Self.longestSocketPath)")
      return nil
    }
    if let problem = environment.socketProblem(path) {
      // The others end a start in a way that systemd does not repeat (T9).
      if problem.isPassing {
        report.warning(place, problem.message, help: problem.help)
      } else {
        report.error(place, problem.message, help: problem.help)
      }
    }
    return .unix(path: path, mode: mode)
  }

  private func systemd(_ name: String, at place: TextLocation) -> ListenerSettings.Address? {
    guard Self.isName(name) else {
      report.error(
        place,
        "the name after \"systemd:\" is not valid: expected the FileDescriptorName of the socket unit, with only letters, digits, \"_\", \"-\" and \".\"",
        help: "write systemd:main, and FileDescriptorName=main in the socket unit")
      return nil
    }
    return .systemd(name: name)
  }

  /// `host:port` at the last colon; nil without a port of 0 to 65535.
  func splitPort(_ text: String) -> (host: String, port: UInt16)? {
    guard let colon = text.lastIndex(of: ":") else { return nil }
    let digits = String(text[text.index(after: colon)...])
    guard digits.utf8.count <= 5, let port = decimal(digits).flatMap({ UInt16(exactly: $0) }) else { return nil }
    return (String(text[..<colon]), port)
  }
}

extension ListenerSettings.Address {
  /// Whether one of them would keep the other from binding. Port 0 is whatever is free.
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

  /// The same address with a port that was bound for it.
  package func bound(to port: UInt16) -> ListenerSettings.Address {
    switch self {
    case .localhost: .localhost(port: port)
    case .tcp(let address, _): .tcp(address, port: port)
    case .unix, .systemd: self
    }
  }

  /// Whether a connection to `host` and `port` may end here.
  func answers(_ host: HostName, port: UInt16) -> Bool {
    guard port != 0 else { return false }
    switch (self, host) {
    // Sockets that the service manager hands over are compared when they have come.
    case (.unix, _), (.systemd, _): return false
    case (.localhost(let own), .name), (.tcp(_, let own), .name): return own == port && host.isLocal
    case (.localhost(let own), .address(let address)):
      return own == port && Self.localhost.contains(address.description)
    case (.tcp(let own, let ownPort), .address(let address)):
      return ownPort == port && (own == address || own.isUnspecified && address.isLoopback)
    }
  }

  /// Whether `Host` may call it so, which for a loopback address is any other one, too.
  func isCalled(_ host: HostName, port own: UInt16) -> Bool {
    if answers(host, port: own) { return true }
    guard own != 0, host.isLocal else { return false }
    switch self {
    case .localhost(let port): return port == own
    case .tcp(let ip, let port): return port == own && ip.isLoopback
    case .unix, .systemd: return false
    }
  }

  /// nil for unix sockets; 0 while it is not known.
  var port: UInt16? {
    switch self {
    case .localhost(let port), .tcp(_, let port): port
    case .unix: nil
    case .systemd: 0
    }
  }

  private static let localhost = ["127.0.0.1", "::1"]
}
