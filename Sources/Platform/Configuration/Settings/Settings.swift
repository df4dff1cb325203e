package import Policy

/// A complete and valid configuration. Contains no secrets.
package struct Settings: Sendable, Equatable {
  package let file: String
  /// The paths of the included files, in the order of reading.
  package let included: [String]
  /// The index of each service's file, where 0 is the main file.
  let serviceFiles: [Int]
  /// The listeners in the order of the file, then those of services with their own port, then the listener of
  /// `metrics`.
  package let listeners: [ListenerSettings]
  /// The credentials, in the same order as `rules.grants`.
  package let credentials: [CredentialSettings]
  package let rules: RuleSet
  package let limits: Limits
  package let requireLockedMemory: Bool
  /// The index of the listener for metrics. `nil` if there is none.
  package let metricsListener: Int?
  /// The absolute path of the control socket. `nil` if the daemon chooses the path.
  package let controlSocket: String?
  package let hasControlSocket: Bool
  package let audit: AuditSettings?
  package let workers: WorkerCount

  package init(
    file: String, included: [String] = [], serviceFiles: [Int] = [], listeners: [ListenerSettings],
    credentials: [CredentialSettings], rules: RuleSet, limits: Limits,
    requireLockedMemory: Bool, controlSocket: String?, hasControlSocket: Bool = true, metricsListener: Int? = nil,
    audit: AuditSettings? = nil, workers: WorkerCount = .fixed(1)
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
    self.hasControlSocket = hasControlSocket
    self.metricsListener = metricsListener
    self.audit = audit
    self.workers = workers
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
}

/// A credential's scheme and the sources of its secrets. Contains no secret.
package struct CredentialSettings: Sendable, Equatable {
  /// The source of a secret. `systemd` names a systemd credential.
  package indirect enum Source: Sendable, Equatable {
    case file(String), systemd(String), env(String), command(Command), token(OAuth2), login(Login)
    /// The user name that a program prints with the secret.
    case userOfCommand(Command)
  }
  package struct Command: Sendable, Equatable {
    package let path: String
    /// The program's arguments. Never show arguments, because they may be secrets.
    package let arguments: [String]
    package let format: CommandFormat
    /// Maximum time for which the program's output is valid, in milliseconds. `nil` for no limit.
    package let timeToLive: UInt64?
    /// The program's time limit, in milliseconds.
    package let timeout: UInt64
  }
  package enum Value: Sendable, Equatable { case plain(String), secret(Source) }
  package struct Header: Sendable, Equatable {
    package let name: String
    package let prefix: String
    package let value: Value

    package init(name: String, prefix: String, value: Value) {
      self.name = name
      self.prefix = prefix
      self.value = value
    }
  }
  package enum Scheme: Sendable, Equatable {
    case bearer(Source)
    /// `password` is plain text only if it is empty.
    case basic(user: Value, password: Value)
    case headers([Header])
    case digest(Digest)
    case registry(Registry)
    case query(name: String, value: Source)
    case oauth1(OAuth1)
    /// Several credentials that are sent together.
    case all([Scheme])
  }
  package let name: String
  package let scheme: Scheme
  /// When to suspend the credential after repeated rejections. `nil` for never.
  package let suspension: Suspension?
  package let line: Int
  /// The client certificate for upstreams that request one in TLS.
  package let certificate: ClientCertificate?

  package init(
    name: String, scheme: Scheme, suspension: Suspension?, line: Int, certificate: ClientCertificate? = nil
  ) {
    self.name = name
    self.scheme = scheme
    self.suspension = suspension
    self.line = line
    self.certificate = certificate
  }
}

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
  static let servicePrefix = "services/"
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

  package init(
    name: String, addresses: [Address], callers: Callers, admission: String, extraAuthorities: [String],
    clients: [Client] = [], pages: PageOrigins = PageOrigins([])
  ) {
    self.name = name
    self.clients = clients
    self.addresses = addresses
    self.callers = callers
    self.admission = admission
    self.extraAuthorities = extraAuthorities
    self.pages = pages
  }
}

package struct Limits: Sendable, Equatable {
  package var headBytes = LimitKey.headDefault
  package var fields = LimitKey.fieldsDefault
  package var targetBytes = LimitKey.targetDefault
  package var connections = LimitKey.connectionsDefault
  /// Maximum number of connections of one user. `nil` for three quarters of `connections`.
  package var connectionsPerUser: Int?
  package var requestsPerUser: Int?
  package var idlePerIdentity = LimitKey.idlePerIdentityDefault
  /// The maximum time for a request head to arrive, in milliseconds.
  package var clientHead = LimitKey.clientHeadDefault
  package var clientIdle = LimitKey.clientIdleDefault
  /// The minimum average speed of a request body, in bytes per second. 0 for no minimum.
  package var clientBodyRate = LimitKey.clientBodyRateDefault
  /// Maximum size of a compressed error response after decoding, in bytes.
  package var decodedError = LimitKey.decodedErrorDefault
  package var upstreamIdle = LimitKey.upstreamIdleDefault
  package var drain = LimitKey.drainDefault
  package var revokedGrace = LimitKey.revokedGraceDefault
  /// TCP keepalive for all connections. `nil` for none.
  package var keepalive: Keepalive? = Keepalive()
  package init() {}
}

/// How the kernel detects a dead peer on a TCP connection.
package struct Keepalive: Sendable, Equatable {
  /// Milliseconds of silence before the first probe.
  package var idle = KeepaliveKey.idleDefault
  /// Milliseconds between two probes.
  package var interval = KeepaliveKey.intervalDefault
  /// Number of probes without a response after which the connection fails.
  package var probes = KeepaliveKey.probesDefault
  package init() {}
}
