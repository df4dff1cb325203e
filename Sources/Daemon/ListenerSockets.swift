internal import Configuration
internal import EventLoop
internal import Policy
internal import System

/// The sockets of one listener, bound and listening, not yet accepting.
struct ListenerSockets {
  let settings: ListenerSettings
  let listeners: [Listener]

  /// Binds every address, or none: what was bound before a failure is closed again.
  init(_ settings: ListenerSettings, loop: Loop) throws(StartError) {
    var opened: [Listener] = []
    do throws(StartError) {
      for address in settings.addresses {
        try ListenerSockets.open(address, of: settings.name, loop: loop, into: &opened)
      }
    } catch {
      for listener in opened { listener.close() }
      throw error
    }
    self.settings = settings
    listeners = opened
  }

  /// As `ss -l` shows it: a short queue would drop connections of a burst.
  private static let backlog: Int32 = 1024

  private static func open(
    _ address: ListenerSettings.Address, of name: String, loop: Loop, into opened: inout [Listener]
  ) throws(StartError) {
    switch address {
    case .localhost(let port): try openLocalhost(port: port, of: name, loop: loop, into: &opened)
    case .tcp(let ip, let port):
      opened.append(try bind(SocketAddress(ip: ip.bytes, port: port), of: name, loop: loop))
    case .unix(let path, let mode):
      do throws(SystemError) {
        let descriptor = try UnixSocket.listen(path: path, mode: mode, group: nil, backlog: backlog)
        opened.append(try adopt(descriptor, of: name, loop: loop))
      } catch {
        throw .system("listener \(name): \(path): \(error)")
      }
    }
  }

  private static func adopt(_ descriptor: Int32, of name: String, loop: Loop) throws(SystemError) -> Listener {
    do throws(UVError) {
      return try Listener(loop: loop, adopting: descriptor, isUnix: true)
    } catch {
      throw SystemError(operation: error.operation, errno: -error.status)
    }
  }

  /// Both families, or somebody else could take the other one (T5). ::1 is left out only where the machine has none.
  private static func openLocalhost(
    port: UInt16, of name: String, loop: Loop, into opened: inout [Listener]
  ) throws(StartError) {
    let v4 = try bind(SocketAddress(ip: [127, 0, 0, 1], port: port), of: name, loop: loop)
    opened.append(v4)
    let v6 = SocketAddress(ip: [UInt8](repeating: 0, count: 15) + [1], port: v4.port)
    do throws(UVError) {
      opened.append(try Listener(loop: loop, address: v6, backlog: backlog, reusePort: false))
    } catch {
      if error.isAddressNotAvailable { return }
      throw .system("listener \(name): \(v6): \(error). Somebody else there could answer in our place")
    }
  }

  private static func bind(_ address: SocketAddress, of name: String, loop: Loop) throws(StartError) -> Listener {
    do throws(UVError) {
      return try Listener(loop: loop, address: address, backlog: backlog, reusePort: false)
    } catch {
      let hint = error.isAddressInUse ? ". Another bearerd, perhaps? `ss -ltnp` says who listens there" : ""
      throw .system("listener \(name): \(address): \(error)\(hint)")
    }
  }

  var ports: [UInt16] { listeners.map(\.port).filter { $0 != 0 } }
}
