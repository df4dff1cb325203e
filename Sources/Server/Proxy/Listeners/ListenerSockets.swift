package import Configuration
package import EventLoop
internal import Policy
internal import System

/// The sockets of one listener, bound or taken over, listening, not yet accepting.
package struct ListenerSockets {
  let settings: ListenerSettings
  private(set) var listeners: [Listener] = []
  /// The addresses of the file as they were bound, and those of sockets that were handed over.
  private(set) var places: [Place] = []
  /// Remarks on what is in order and will surprise.
  private(set) var remarks: [(message: String, help: String)] = []

  package struct Place {
    package let text: String
    /// The service manager keeps it when we end.
    var isHeld = false
  }

  /// Opens every address, or none: what was bound before a failure is closed again. `file` is the configuration's.
  package init(_ settings: ListenerSettings, held: InheritedSockets, file: String, loop: Loop) throws(StartError) {
    self.settings = settings
    do throws(StartError) {
      for address in settings.addresses { try open(address, held: held, file: file, loop: loop) }
    } catch {
      close()
      throw error
    }
  }

  /// Closes sockets that will not be listened on; those in the file system go, too.
  package func close() {
    for listener in listeners { listener.close() }
    for case .unix(let path, _) in settings.addresses where places.contains(where: { $0.text == "unix:\(path)" }) {
      UnixSocket.remove(path: path)
    }
  }

  package var ports: [UInt16] { listeners.map(\.port).filter { $0 != 0 } }

  /// As `ss -l` shows it: a short queue would drop connections of a burst.
  private static let backlog: Int32 = 1024
  /// Ports of the system's choice, until one is free for both families.
  private static let mostTries = 16

  private mutating func open(
    _ address: ListenerSettings.Address, held: InheritedSockets, file: String, loop: Loop
  ) throws(StartError) {
    switch address {
    case .localhost(let port): try openLocalhost(port: port, held: held, loop: loop)
    case .tcp(let ip, let port):
      let listener = try bind(SocketAddress(ip: ip.bytes, port: port), held: held, loop: loop)
      listeners.append(listener)
      places.append(Place(text: SocketAddress(ip: ip.bytes, port: listener.port).description))
    case .unix(let path, let mode):
      do throws(SystemError) {
        let descriptor = try UnixSocket.listen(path: path, mode: mode, group: nil, backlog: Self.backlog)
        listeners.append(try adopt(descriptor, isUnix: true, loop: loop))
        places.append(Place(text: "unix:\(path)"))
      } catch {
        let problem = UnixSocketProblem(path: path, error)
        let message = "listener \(settings.name): \(problem.message)"
        // A start may try again what passes by itself.
        guard !problem.isPassing else { throw .system("\(message); \(problem.help)") }
        throw .configuration([.about(file: file, message, help: problem.help)])
      }
    case .systemd(let name): try take(held.open(name, for: settings, file: file), of: held, loop: loop)
    }
  }

  private mutating func take(_ sockets: [InheritedSocket], of held: InheritedSockets, loop: Loop) throws(StartError) {
    for (index, socket) in sockets.enumerated() {
      do throws(SystemError) {
        listeners.append(try adopt(socket.descriptor, isUnix: socket.port == nil, loop: loop))
      } catch {
        for socket in sockets[index...] { socket.close() }
        throw .system("listener \(settings.name): \(socket.text): \(error)")
      }
      places.append(Place(text: socket.text, isHeld: true))
      let members = held.members(whoMayConnectTo: socket)
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

  /// Both families, or another program could take the other one (T5). ::1 is left out only where the machine has none. With
  /// port 0 the system chooses a port that is free for 127.0.0.1, and another one if ::1 has it in use.
  private mutating func openLocalhost(port: UInt16, held: InheritedSockets, loop: Loop) throws(StartError) {
    var triesLeft = port == 0 ? Self.mostTries : 1
    while true {
      triesLeft -= 1
      let v4 = try bind(SocketAddress(ip: [127, 0, 0, 1], port: port), held: held, loop: loop)
      let v6 = SocketAddress(ip: [UInt8](repeating: 0, count: 15) + [1], port: v4.port)
      do throws(UVError) {
        listeners += [v4, try Listener(loop: loop, address: v6, backlog: Self.backlog, reusePort: false)]
        return places.append(Place(text: "localhost:\(v4.port)"))
      } catch {
        if error.isAddressNotAvailable {
          listeners.append(v4)
          return places.append(Place(text: "127.0.0.1:\(v4.port)"))
        }
        v4.close()
        if error.isAddressInUse, triesLeft > 0 { continue }
        throw .system(
          "listener \(settings.name): \(v6): \(error). Another program that listens there could respond instead of bearerd"
        )
      }
    }
  }

  private func bind(_ address: SocketAddress, held: InheritedSockets, loop: Loop) throws(StartError) -> Listener {
    do throws(UVError) {
      return try Listener(loop: loop, address: address, backlog: Self.backlog, reusePort: false)
    } catch {
      var hint = ""
      if error.isAddressInUse {
        hint =
          held.name(ofPort: address.port).map {
            ". systemd already has this port for bearerd: write address: systemd:\($0)"
          }
          ?? ". Perhaps another bearerd runs. `ss -ltnp` shows which program listens there"
      }
      throw .system("listener \(settings.name): \(address): \(error)\(hint)")
    }
  }
}
