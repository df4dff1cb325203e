internal import Configuration
internal import EventLoop
internal import Policy
internal import Settings
internal import System

/// Rules for sockets that bearerd inherits from the service manager.
extension InheritedSocket {
  /// Returns why a listener may not use this socket, and advice. `nil` if the listener may use it.
  func refusal(for listener: ListenerSettings) -> (message: String, help: String)? {
    switch address {
    case .tcp: return reachRefusal(for: listener)
    case .unix(let path):
      do throws(SystemError) {
        _ = try UnixSocket.inspect(path: path)
        return nil
      } catch {
        return (
          "systemd:\(name) is \(text), and another user could replace it: \(error)",
          "write ListenStream=/run/bearerd.sock into the socket unit"
        )
      }
    case .unusable(let reason):
      return (
        "systemd:\(name), descriptor \(descriptor), cannot be used as a listener: \(reason)",
        "write ListenStream= and an address into the socket unit"
      )
    }
  }

  /// Returns a refusal if other machines can reach the socket, but the listener requires no client tokens.
  func reachRefusal(for listener: ListenerSettings) -> (message: String, help: String)? {
    guard case .tcp(let ip, _) = address, listener.clients.isEmpty, !(IPAddress(bytes: ip)?.isLoopback ?? false) else {
      return nil
    }
    return (
      "other machines can reach systemd:\(name) at \(text), and bearerd cannot know their users: client tokens are required",
      "write ListenStream=127.0.0.1:7070 and ListenStream=[::1]:7070 into the socket unit, or run \"bearerctl token NAME\" and add its line under \(listener.admission): clients: { NAME: sha256/… }"
    )
  }

  /// Returns a remark about a permitted but surprising setup, or `nil`.
  /// - Parameters:
  ///   - others: the sockets with the same name.
  ///   - members: the members of the socket file's group.
  func remark(
    beside others: [InheritedSocket], for listener: ListenerSettings, members: Set<UInt32>
  ) -> (message: String, help: String)? {
    switch address {
    case .tcp([127, 0, 0, 1], let port):
      guard !others.contains(where: { $0.address == .tcp(ip: loopback6, port: port) }) else {
        return nil
      }
      return (
        "another program could listen on [::1]:\(port), which programs may try first for localhost",
        "add ListenStream=[::1]:\(port) to the socket unit, if this machine has IPv6"
      )
    case .unix(let path):
      guard let status = FileStatus(path: path), status.mode & 0o002 == 0 else { return nil }
      let inside = status.mode & 0o020 == 0 ? [] : members
      let outside = (listener.callers.uids ?? []).subtracting(inside).subtracting([0, status.owner]).sorted()
      guard let first = outside.first else { return nil }
      return (
        "uid \(first) is in allow_users but cannot connect to the socket (mode \(String(status.mode, radix: 8)))",
        "write SocketMode=0666 into the socket unit. allow_users still decides who may send requests"
      )
    case .tcp, .unusable: return nil
    }
  }

  /// Whether a connection to `host` and `port` would reach this socket.
  func accepts(_ host: HostName, port: UInt16) -> Bool {
    switch (address, host) {
    case (.tcp(_, let own), .name): host.isLocal && own == port
    case (.tcp(let ip, let own), .address(let address)): own == port && ip == address.bytes
    case (.unix, _), (.unusable, _): false
    }
  }

  /// The TCP port. `nil` for other sockets.
  var port: UInt16? {
    if case .tcp(_, let port) = address { port } else { nil }
  }

  /// The address in the format of an `address:` key.
  var text: String {
    switch address {
    case .tcp(let ip, let port): SocketAddress(ip: ip, port: port).description
    case .unix(let path): "unix:\(path)"
    case .unusable: "descriptor \(descriptor)"
    }
  }
}

private let loopback6 = [UInt8](repeating: 0, count: 15) + [1]
