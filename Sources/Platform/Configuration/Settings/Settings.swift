package import Policy

/// A whole configuration, already valid. Immutable; names credentials, holds none.
package struct Settings: Sendable, Equatable {
  /// The main file.
  package let file: String
  /// The paths of the files that it includes, in the order of reading.
  package let included: [String]
  /// The file of each service of `rules`: 0 is the main one, others follow.
  let serviceFiles: [Int]
  /// The listeners of the file in its order, then one for each service with a port of its own, named `services/NAME`, then that
  /// of `metrics`.
  package let listeners: [ListenerSettings]
  /// Same order as `rules.grants`.
  package let credentials: [CredentialSettings]
  package let rules: RuleSet
  package let limits: Limits
  package let requireLockedMemory: Bool
  /// Index of the listener that answers scrapes: the last one; nil: there is none.
  package let metricsListener: Int?
  /// Absolute; nil: the daemon's choice.
  package let controlSocket: String?
  /// Whether the daemon can be asked at all.
  package let hasControlSocket: Bool
  /// nil: there is no such file.
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

  /// Returns the file that a service of `rules` stands in.
  package func file(ofService service: Int) -> String {
    guard serviceFiles.indices.contains(service), serviceFiles[service] > 0 else { return file }
    return included[serviceFiles[service] - 1]
  }
}

/// The file that gets a record of each exchange.
package struct AuditSettings: Sendable, Equatable {
  /// Absolute (if the configuration's own path was).
  package let file: String
  /// No request goes out that might not be recorded.
  package let isRequired: Bool
}

/// The source of a credential's value, and what it writes: names and paths, never a secret. Mirrors `Credentials.AuthScheme`.
package struct CredentialSettings: Sendable, Equatable {
  /// `file` is absolute (if the configuration's own path was); `systemd` is a name below `$CREDENTIALS_DIRECTORY`.
  package indirect enum Source: Sendable, Equatable {
    case file(String), systemd(String), env(String), command(Command), token(OAuth2), login(Login)
    /// The user's name that it says beside the secret.
    case userOfCommand(Command)
  }
  package struct Command: Sendable, Equatable {
    /// The program, by its absolute path.
    package let path: String
    /// The arguments that the program is called with. Arguments may be secrets, although they should not: never to be shown.
    package let arguments: [String]
    package let format: CommandFormat
    /// Milliseconds for which what it prints counts; nil: for ever.
    package let timeToLive: UInt64?
    /// Milliseconds that it may take.
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
    /// A value that is plain text is empty, or the user.
    case basic(user: Value, password: Value)
    case headers([Header])
    case digest(Digest)
    case registry(Registry)
    /// A parameter of the query.
    case query(name: String, value: Source)
    case oauth1(OAuth1)
    /// Several credentials that go out together.
    case all([Scheme])
  }
  package let name: String
  package let scheme: Scheme
  /// nil: it is never held back.
  package let suspension: Suspension?
  package let line: Int
  /// The certificate that TLS shows beside that, to upstreams that ask.
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
    /// All sockets that the service manager hands over under this name, TCP or unix. Where they are is known only then.
    case systemd(name: String)
  }
  /// The name of the listener that `metrics` makes; no other may be called so beside it.
  package static let metricsName = "metrics"
  /// The beginning of the names of listeners that a service with a port of its own makes (`at: localhost:PORT`).
  static let servicePrefix = "services/"
  /// Whether the listener belongs to one service, which is found by its port.
  package var isOfOneService: Bool { name.hasPrefix(Self.servicePrefix) }
  package let name: String
  package let addresses: [Address]
  package let callers: Callers
  /// Not empty: each request needs the token of one of them, besides `callers`.
  package let clients: [Client]
  /// The place in the file that says who may ask here: `listeners.main`, for a service with a port of its own the listener that
  /// it names, or `metrics`.
  package let admission: String
  /// Extra names of `hosts:` and of host-mounted services: authorities with port, lower-case. The listener's own names are added when its port is known (port 0 in tests).
  /// Port 0 of a host-mounted service (`github.localhost:0`) stands for that port as well.
  package let extraAuthorities: [String]
  /// The web pages that may ask here.
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
  /// nil: a part of all connections, which leaves some to others.
  package var connectionsPerUser: Int?
  package var requestsPerUser: Int?
  package var idlePerIdentity = LimitKey.idlePerIdentityDefault
  /// Milliseconds.
  package var clientHead = LimitKey.clientHeadDefault
  package var clientIdle = LimitKey.clientIdleDefault
  /// Bytes per second, on average over the time of a service's body silence; 0: any.
  package var clientBodyRate = LimitKey.clientBodyRateDefault
  /// Bytes that the compressed body of an error may decode to.
  package var decodedError = LimitKey.decodedErrorDefault
  package var upstreamIdle = LimitKey.upstreamIdleDefault
  package var drain = LimitKey.drainDefault
  package var revokedGrace = LimitKey.revokedGraceDefault
  /// `nil` if connections are not probed.
  package var keepalive: Keepalive? = Keepalive()
  package init() {}
}

/// When TCP asks a silent peer whether it still lives.
package struct Keepalive: Sendable, Equatable {
  /// Milliseconds of silence before the first probe.
  package var idle = KeepaliveKey.idleDefault
  /// Milliseconds between two probes.
  package var interval = KeepaliveKey.intervalDefault
  /// Number of probes without a response after which the connection fails.
  package var probes = KeepaliveKey.probesDefault
  package init() {}
}
