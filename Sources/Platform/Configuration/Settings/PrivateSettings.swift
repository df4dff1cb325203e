internal import Policy

/// For a daemon that serves one program: `bearerctl run` starts one where none runs.
/// The use of a daemon on free ports, for one user.
package struct PrivateUse: Sendable {
  let uid: UInt32
  /// Whether requests are recorded in the audit file. Only one daemon at a time can write it.
  let isAudited: Bool

  package init(uid: UInt32, isAudited: Bool) {
    self.uid = uid
    self.isAudited = isAudited
  }
}

extension Settings {
  /// The same on free ports of localhost, for one user: without the ports, the sockets, the callers and the control socket of the daemon
  /// that these settings are for.
  /// A service with a port of its own keeps it where it is free: the names of images have it in them.
  /// - Parameters:
  ///   - use: the only user.
  ///   - former: the settings of the same daemon before a reload. Listeners stay where they are.
  package func onFreePorts(for use: PrivateUse, after former: Settings? = nil, isFree: (UInt16) -> Bool) -> Settings {
    let moved = listeners.enumerated().map { index, listener -> ListenerSettings in
      let hosts = rules.services.compactMap { service -> String? in
        guard service.listener == index, case .host(let host) = service.mount else { return nil }
        return "\(host):0"
      }
      var port: UInt16 = 0
      if case .localhost(let present)? = former?.listeners.first(where: { $0.name == listener.name })?.addresses.first {
        port = present
      } else if listener.isOfOneService, case .localhost(let own)? = listener.addresses.first, isFree(own) {
        port = own
      }
      return ListenerSettings(
        name: listener.name, addresses: [.localhost(port: port)], callers: Callers(uids: [use.uid]),
        admission: listener.admission, extraAuthorities: hosts, pages: listener.pages)
    }
    return Settings(
      file: file, included: included, serviceFiles: serviceFiles, listeners: moved, credentials: credentials,
      rules: rules,
      limits: limits, requireLockedMemory: requireLockedMemory, controlSocket: nil, hasControlSocket: false,
      metricsListener: metricsListener, audit: use.isAudited ? audit : nil, workers: workers)
  }
}
