internal import Configuration
internal import EventLoop
internal import Policy
internal import System

/// A socket that was handed over is held to what an `address:` in the file may say.
extension InheritedSocket {
  /// Why it may not be listened on, and what to write instead; nil if it may.
  func refusal(for listener: ListenerSettings) -> (message: String, help: String)? {
    switch place {
    case .tcp: return reach(for: listener)
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

  /// Checks who can connect, alone: that has to hold after each reload.
  func reach(for listener: ListenerSettings) -> (message: String, help: String)? {
    guard case .tcp(let ip, _) = place, listener.clients.isEmpty, !(IPAddress(bytes: ip)?.isLoopback ?? false) else {
      return nil
    }
    return (
      "other machines can reach systemd:\(name) at \(text), and bearerd cannot know their users: client tokens are required",
      "write ListenStream=127.0.0.1:7070 and ListenStream=[::1]:7070 into the socket unit, or run \"bearerctl token NAME\" and add its line under \(listener.admission): clients: { NAME: sha256/… }"
    )
  }

  /// A remark on what is allowed and will surprise.
  /// - Parameter members: of the group that may connect.
  func remark(
    beside others: [InheritedSocket], for listener: ListenerSettings, members: Set<UInt32>
  ) -> (message: String, help: String)? {
    switch place {
    case .tcp([127, 0, 0, 1], let port):
      guard !others.contains(where: { $0.place == .tcp(ip: InheritedSocketRules.loopback6, port: port) }) else {
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

  /// Whether a connection to `host` and `port` ends here.
  func answers(_ host: HostName, port: UInt16) -> Bool {
    switch (place, host) {
    case (.tcp(_, let own), .name): host.isLocal && own == port
    case (.tcp(let ip, let own), .address(let address)): own == port && ip == address.bytes
    case (.unix, _), (.unusable, _): false
    }
  }

  /// nil for anything but TCP.
  var port: UInt16? {
    switch place {
    case .tcp(_, let port): port
    case .unix, .unusable: nil
    }
  }

  /// As an `address:` is written.
  var text: String {
    switch place {
    case .tcp(let ip, let port): SocketAddress(ip: ip, port: port).description
    case .unix(let path): "unix:\(path)"
    case .unusable: "descriptor \(descriptor)"
    }
  }
}

private enum InheritedSocketRules {
  static let loopback6 = [UInt8](repeating: 0, count: 15) + [1]
}
