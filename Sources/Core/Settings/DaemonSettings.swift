package import Policy

/// A complete and valid configuration. Contains no secrets.
package struct DaemonSettings: Sendable, Equatable {
  package let file: String
  /// The paths of the included files, in the order of reading.
  package let included: [String]
  /// The index of each service's file, where 0 is the main file.
  package let serviceFiles: [Int]
  /// The listeners in the order of the file, then those of services with their own port, then the listener of
  /// `metrics`.
  package internal(set) var listeners: [ListenerSettings]
  /// The credentials, in the same order as `rules.grants`.
  package let credentials: [CredentialSettings]
  package let rules: RuleSet
  package let limits: Limits
  package let requireLockedMemory: Bool
  /// The index of the listener for metrics. `nil` if there is none.
  package let metricsListener: Int?
  /// The absolute path of the control socket. `nil` if the daemon chooses the path.
  package internal(set) var controlSocket: String?
  package internal(set) var hasControlSocket = true
  package internal(set) var audit: AuditSettings?
  package let reports: ReportSettings?
  package let workers: WorkerCount

  package init(
    file: String, included: [String] = [], serviceFiles: [Int] = [], listeners: [ListenerSettings],
    credentials: [CredentialSettings], rules: RuleSet, limits: Limits,
    requireLockedMemory: Bool, controlSocket: String?, metricsListener: Int? = nil,
    audit: AuditSettings? = nil, reports: ReportSettings? = nil, workers: WorkerCount = .fixed(1)
  ) {
    self.file = file
    self.included = included
    self.serviceFiles = serviceFiles
    self.listeners = listeners
    self.credentials = credentials
    self.rules = rules
    self.limits = limits
    self.requireLockedMemory = requireLockedMemory
    self.controlSocket = controlSocket
    self.metricsListener = metricsListener
    self.audit = audit
    self.reports = reports
    self.workers = workers
  }

  /// A server that bearerd connects to over TLS.
  package struct TLSServer {
    /// The configuration key that contains the server's trust settings, such as `services.NAME`.
    package let name: String
    package let origin: Origin
    package let trust: TrustPolicy
  }

  package var tlsServers: [TLSServer] {
    upstreamsAndEndpoints
      + (reports.map { [TLSServer(name: "reports", origin: $0.url.origin, trust: $0.trust)] } ?? [])
  }

  private var upstreamsAndEndpoints: [TLSServer] {
    rules.services.filter { $0.upstream.origin.scheme == .https }.map {
      TLSServer(name: "services.\($0.name)", origin: $0.upstream.origin, trust: $0.trust)
    }
      + credentials.compactMap { credential in
        func server(_ key: String, _ source: TokenSource) -> TLSServer {
          TLSServer(
            name: "credentials.\(credential.name).\(key)", origin: source.endpoint.origin, trust: source.trust)
        }
        if case .registry(_, let registry) = credential.scheme { return server("registry", registry) }
        if let login = credential.login { return server("login", login) }
        return credential.oauth2.map { server($0.oauth1 == nil ? "oauth2" : "oauth1", $0) }
      }
  }

  /// Returns the path of the file that defines a service of `rules`.
  package func file(ofService service: Int) -> String {
    guard serviceFiles.indices.contains(service), serviceFiles[service] > 0 else { return file }
    return included[serviceFiles[service] - 1]
  }
}

/// The settings of the audit file, which has a record of each exchange.
package struct AuditSettings: Sendable, Equatable {
  package let file: String
  /// Whether bearerd refuses requests that it cannot record.
  package let isRequired: Bool

  package init(file: String, isRequired: Bool) {
    self.file = file
    self.isRequired = isRequired
  }
}

/// Where bearerd reports failed verifications of upstreams.
package struct ReportSettings: Sendable, Equatable {
  package let url: Endpoint
  /// What bearerd requires of the host of `url`. Its pins are always enforced.
  package let trust: TrustPolicy
  package let allowedAddresses: [AddressBlock]

  package init(url: Endpoint, trust: TrustPolicy, allowedAddresses: [AddressBlock]) {
    self.url = url
    self.trust = trust
    self.allowedAddresses = allowedAddresses
  }
}
