internal import Policy

/// For a daemon that serves one program: `bearerctl run` starts one where none runs.
extension Settings {
  /// The same on free ports of localhost: without the ports, the sockets and the control socket of the daemon that these settings are
  /// for.
  package func onFreePorts() -> Settings {
    let moved = listeners.map { listener -> ListenerSettings in
      let own = listener.addresses.compactMap(\.port)
      return ListenerSettings(
        name: listener.name, addresses: [.localhost(port: 0)], callers: listener.callers, admission: listener.admission,
        extraAuthorities: listener.extraAuthorities.map { authority in
          let suffix = own.map { ":\($0)" }.first { authority.hasSuffix($0) }
          return suffix.map { authority.dropLast($0.count) + ":0" } ?? authority
        }, clients: listener.clients, pages: listener.pages)
    }
    return Settings(
      file: file, included: included, serviceFiles: serviceFiles, listeners: moved, credentials: credentials,
      rules: rules,
      limits: limits, requireLockedMemory: requireLockedMemory, controlSocket: nil, hasControlSocket: false,
      metricsListener: metricsListener, audit: audit, workers: workers)
  }
}
