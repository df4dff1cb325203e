package import Configuration
package import EventLoop
internal import Policy
package import Settings
internal import System

package struct ListenerSockets {
  let settings: ListenerSettings
  private(set) var listeners: [Listener] = []
  private(set) var boundAddresses: [BoundAddress] = []
  private(set) var remarks: [(message: String, help: String)] = []

  package struct BoundAddress {
    package let text: String
    /// Whether the service manager owns the socket.
    var isInherited = false
  }

  /// Opens all addresses. If one fails, closes the others and throws an error.
  /// - Parameter file: the configuration file, for error messages.
  package init(_ settings: ListenerSettings, inherited: InheritedSockets, file: String, loop: Loop) throws(StartError) {
    self.settings = settings
    do throws(StartError) {
      for address in settings.addresses { try open(address, inherited: inherited, file: file, loop: loop) }
    } catch {
      close()
      throw error
    }
  }

  /// Closes the sockets, and removes Unix sockets from the file system.
  package func close() {
    for listener in listeners { listener.close() }
    for case .unix(let path, _) in settings.addresses
    where boundAddresses.contains(where: { $0.text == "unix:\(path)" }) {
      UnixSocket.remove(path: path)
    }
  }

  package var ports: [UInt16] { listeners.map(\.port).filter { $0 != 0 } }

  /// Maximum number of connections that wait to be accepted.
  private static let backlog: Int32 = 1024
  /// Maximum number of ports to try until one is free for IPv4 and IPv6.
  private static let maximumTries = 16

  private mutating func open(
    _ address: ListenerSettings.Address, inherited: InheritedSockets, file: String, loop: Loop
  ) throws(StartError) {
    switch address {
    case .localhost(let port): try openLocalhost(port: port, inherited: inherited, loop: loop)
    case .tcp(let ip, let port):
      let listener = try bind(SocketAddress(ip: ip.bytes, port: port), inherited: inherited, loop: loop)
      listeners.append(listener)
      boundAddresses.append(BoundAddress(text: SocketAddress(ip: ip.bytes, port: listener.port).description))
    case .unix(let path, let mode):
      do throws(SystemError) {
        let descriptor = try UnixSocket.listen(path: path, mode: mode, group: nil, backlog: Self.backlog)
        listeners.append(try adopt(descriptor, isUnix: true, loop: loop))
        boundAddresses.append(BoundAddress(text: "unix:\(path)"))
      } catch {
        let problem = UnixSocketProblem(path: path, error)
        let message = "listener \(settings.name): \(problem.message)"
        // A temporary problem is an error after which the start may be retried.
        guard !problem.isTransient else { throw .system("\(message); \(problem.help)") }
        throw .configuration([.about(file: file, message, help: problem.help)])
      }
    case .systemd(let name):
      try adoptInherited(inherited.open(name, for: settings, file: file), of: inherited, loop: loop)
    }
  }

  private mutating func adoptInherited(
    _ sockets: [InheritedSocket], of inherited: InheritedSockets, loop: Loop
  ) throws(StartError) {
    for (index, socket) in sockets.enumerated() {
      do throws(SystemError) {
        listeners.append(try adopt(socket.descriptor, isUnix: socket.port == nil, loop: loop))
      } catch {
        for socket in sockets[index...] { socket.close() }
        throw .system("listener \(settings.name): \(socket.text): \(error)")
      }
      boundAddresses.append(BoundAddress(text: socket.text, isInherited: true))
      let members = inherited.groupMembers(of: socket)
      if let remark = socket.remark(beside: sockets, for: settings, members: members) { remarks.append(remark) }
    }
  }

  private func adopt(_ descriptor: Int32, isUnix: Bool, loop: Loop) throws(SystemError) -> Listener {
    do throws(UVError) {
      return try Listener(loop: loop, adopting: descriptor, isUnix: isUnix)
    } catch {
      throw SystemError(operation: error.operation, errno: -error.status)
    }
  }

  /// Binds the port on 127.0.0.1 and ::1 (T5). Omits ::1 if the machine does not have it.
  private mutating func openLocalhost(port: UInt16, inherited: InheritedSockets, loop: Loop) throws(StartError) {
    // Another program could otherwise bind the second address. Port 0 needs a port that is free on both addresses.
    var triesLeft = port == 0 ? Self.maximumTries : 1
    while true {
      triesLeft -= 1
      let v4 = try bind(SocketAddress(ip: [127, 0, 0, 1], port: port), inherited: inherited, loop: loop)
      let v6 = SocketAddress(ip: [UInt8](repeating: 0, count: 15) + [1], port: v4.port)
      do throws(UVError) {
        listeners += [v4, try Listener(loop: loop, address: v6, backlog: Self.backlog, reusePort: false)]
        return boundAddresses.append(BoundAddress(text: "localhost:\(v4.port)"))
      } catch {
        if error.isAddressNotAvailable {
          listeners.append(v4)
          return boundAddresses.append(BoundAddress(text: "127.0.0.1:\(v4.port)"))
        }
        v4.close()
        if error.isAddressInUse, triesLeft > 0 { continue }
        throw .system(
          "listener \(settings.name): \(v6): \(error). Another program that listens there could respond instead of bearerd"
        )
      }
    }
  }

  private func bind(_ address: SocketAddress, inherited: InheritedSockets, loop: Loop) throws(StartError) -> Listener {
    do throws(UVError) {
      return try Listener(loop: loop, address: address, backlog: Self.backlog, reusePort: false)
    } catch {
      var hint = ""
      if error.isAddressInUse {
        hint =
          inherited.name(ofPort: address.port).map {
            ". systemd already has this port for bearerd: write address: systemd:\($0)"
          }
          ?? ". Perhaps another bearerd runs. `ss -ltnp` shows which program listens there"
      }
      throw .system("listener \(settings.name): \(address): \(error)\(hint)")
    }
  }
}
