internal import Policy

/// The options of a private daemon, which `bearerctl run` starts.
package struct PrivateUse: Sendable {
  let uid: UInt32
  /// Whether the daemon writes the audit file.
  let isAudited: Bool

  package init(uid: UInt32, isAudited: Bool) {
    self.uid = uid
    self.isAudited = isAudited
  }
}

extension DaemonSettings {
  /// Returns these settings for a private daemon: one user, free ports of localhost, and no control socket.
  /// - Parameters:
  ///   - previous: The private settings before a reload, whose listeners keep their ports. `nil` at the start.
  ///   - isFree: Whether a port is free.
  package func onFreePorts(for use: PrivateUse, after previous: DaemonSettings? = nil, isFree: (UInt16) -> Bool)
    -> DaemonSettings
  {
    var settings = self
    settings.listeners = listeners.enumerated().map { index, listener -> ListenerSettings in
      let hosts = rules.services.compactMap { service -> String? in
        guard service.listener == index, case .host(let host) = service.mount else { return nil }
        return "\(host):0"
      }
      var port: UInt16 = 0
      if case .localhost(let present)? = previous?.listeners.first(where: { $0.name == listener.name })?.addresses.first
      {
        port = present
      } else if listener.isOfOneService, case .localhost(let own)? = listener.addresses.first, isFree(own) {
        port = own
      }
      return ListenerSettings(
        name: listener.name, addresses: [.localhost(port: port)], callers: Callers(uids: [use.uid]),
        admission: listener.admission, extraAuthorities: hosts, pages: listener.pages,
        offersDiscovery: listener.offersDiscovery)
    }
    (settings.controlSocket, settings.hasControlSocket) = (nil, false)
    if !use.isAudited { settings.audit = nil }
    return settings
  }
}
