package import Policy

/// A listener: its addresses, and who may send requests to them.
package struct ListenerSettings: Sendable, Equatable {
  package enum Address: Sendable, Equatable {
    /// 127.0.0.1 and ::1
    case localhost(port: UInt16)
    case tcp(IPAddress, port: UInt16)
    case unix(path: String, mode: UInt32)
    /// All sockets that systemd passes under this name.
    case systemd(name: String)
  }
  /// The name of the listener that the key `metrics` creates.
  package static let metricsName = "metrics"
  /// The prefix for the names of listeners of services with their own port.
  package static let servicePrefix = "services/"
  package var isOfOneService: Bool { name.hasPrefix(Self.servicePrefix) }
  package let name: String
  package let addresses: [Address]
  package let callers: Callers
  /// The clients that may send requests. If this list is not empty, each request needs a token of one of them.
  package let clients: [Client]
  /// The section of the file that decides who may send requests: `listeners.NAME` or `metrics`.
  package let admission: String
  /// Further allowed values of `Host`, in lowercase and with a port. Port 0 stands for the listener's own port.
  package let extraAuthorities: [String]
  package let pages: PageOrigins
  /// Whether the listener tells a caller which services the caller may use.
  package let offersDiscovery: Bool

  package init(
    name: String, addresses: [Address], callers: Callers, admission: String, extraAuthorities: [String],
    clients: [Client] = [], pages: PageOrigins = PageOrigins([]), offersDiscovery: Bool = false
  ) {
    self.name = name
    self.clients = clients
    self.addresses = addresses
    self.callers = callers
    self.admission = admission
    self.extraAuthorities = extraAuthorities
    self.pages = pages
    self.offersDiscovery = offersDiscovery
  }
}
