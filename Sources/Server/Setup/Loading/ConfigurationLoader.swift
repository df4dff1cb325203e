internal import Audit
package import Configuration
internal import Crypto
package import Gateway
internal import HTTP1
package import Policy
package import Secrets
package import System
internal import TLS

/// A configuration that could not be used: every finding, in the order of the files.
package struct LoadError: Error, Sendable {
  package let diagnostics: [Diagnostic]
  /// The control socket's path, if the file says it all the same.
  package let controlSocket: String?

  init(diagnostics: [Diagnostic], controlSocket: String? = nil) {
    self.diagnostics = diagnostics
    self.controlSocket = controlSocket
  }
}

/// From a file to settings, the same for the daemon and for `bearerctl`.
package enum ConfigurationLoader {
  /// The configuration of the system's daemon.
  package static let systemFile = "/etc/bearerd/bearerd.yaml"

  /// The path of the configuration where no option says another.
  package static var defaultFile: String {
    if Users.currentUID < 1000 { return systemFile }
    if let base = ProcessEnvironment.value("XDG_CONFIG_HOME"), base.hasPrefix("/") {
      return base + "/bearerd/bearerd.yaml"
    }
    return (ProcessEnvironment.value("HOME") ?? "") + "/.config/bearerd/bearerd.yaml"
  }

  /// Reads and checks; opens no secret.
  /// - Parameters:
  ///   - user: whom the daemon runs as; nil: this user.
  ///   - silent: files of secrets that are known not to answer.
  ///   - text: what will stand in the file; nil: what stands there.
  package static func load(
    _ file: String, as user: UInt32? = nil, silent: Set<String> = [], text: [UInt8]? = nil
  ) throws(LoadError) -> (settings: Settings, findings: [Diagnostic]) {
    let loaded = try load(file, as: user, text: text, probe: FileProbe(silent: silent), step: Preparation.Step())
    return (loaded.settings, loaded.findings)
  }

  /// The configuration as one tree; `nil` if it cannot be used.
  package static func tree(of file: String) throws(SystemError) -> ConfigurationTree? {
    let text = try FileReader.read(path: file, maximum: 1 << 20).bytes
    // Root may ask about another user's, which is judged as that user would.
    let user = Users.currentUID == 0 ? FileStatus(path: file)?.owner ?? 0 : Users.currentUID
    let answers = FileProbe.Answers(as: user)
    let environment = ConfigurationReader.Environment.system(Preparation.Step(), FileProbe(), answers, as: user)
    return ConfigurationReader.tree(text: text, file: file, environment: environment)
  }

  struct Loaded {
    let settings: Settings
    let findings: [Diagnostic]
    /// The `ca_file`s, by path.
    let stores: [String: TrustStore]
    let certificates: ClientCertificates
    /// Files of secrets, and programs, that did not answer, so that it is unknown who else could change them.
    let unanswered: Set<String>
  }

  static func load(
    _ file: String, as user: UInt32? = nil, text: [UInt8]? = nil, withAdvice: Bool = true, probe: FileProbe,
    step: Preparation.Step
  ) throws(LoadError) -> Loaded {
    step.begin(file)
    let answers = FileProbe.Answers(as: user ?? Users.currentUID)
    let written: [UInt8]
    do throws(SystemError) {
      if let text {
        written = text
      } else {
        let walk = FileWalk(file, as: user ?? Users.currentUID)
        written = try FileReader.read(walk, maximum: 1 << 20).bytes
        answers.note(walk)
      }
    } catch {
      throw LoadError(diagnostics: [.unreadable(file, error)])
    }
    let certificates = ClientCertificates()
    var environment = ConfigurationReader.Environment.system(step, probe, answers, as: user)
    environment.clientCertificate = { certificate in
      step.begin(certificate.file)
      return certificates.look(at: certificate)
    }
    switch ConfigurationReader.read(text: written, file: file, environment: environment, withAdvice: withAdvice) {
    case .failure(let errors): throw LoadError(diagnostics: errors.diagnostics, controlSocket: errors.controlSocket)
    case .success(let (settings, warnings)):
      let stores = try trustStores(of: settings, as: user ?? Users.currentUID, step: step)
      return Loaded(
        settings: settings, findings: warnings, stores: stores, certificates: certificates,
        unanswered: answers.unanswered)
    }
  }

  /// An unreadable one is an error, never skipped.
  private static func trustStores(
    of settings: Settings, as user: UInt32, step: Preparation.Step
  ) throws(LoadError) -> [String: TrustStore] {
    var stores: [String: TrustStore] = [:]
    let wanted = settings.trusts.compactMap { name, trust in trust.caFile.map { (name, $0) } }
    for (name, file) in wanted where stores[file] == nil {
      step.begin(file)
      do {
        let pem = try FileReader.read(try FileWalk(file, as: user).judged(), maximum: 4 << 20).bytes
        stores[file] = try TrustStore(pem: pem, name: file)
      } catch {
        throw LoadError(
          diagnostics: [.about(file: settings.file, "\(name).ca_file: \(file): \(error)")],
          controlSocket: settings.controlSocket)
      }
    }
    return stores
  }

  /// The files that their secrets are in.
  static func secretFiles(of settings: Settings) -> Set<SecretSource> {
    Set(settings.credentials.flatMap(\.sources).map { SecretSource($0) }.filter(\.isFile))
  }

  /// The sources of secrets that did not answer.
  package static func unanswered(in preparation: Preparation) -> Set<SecretSource> {
    preparation.tables.secretFiles.intersection(preparation.unanswered.map { .file($0) })
  }

  /// The snapshot that the gateway decides by.
  /// - Parameters:
  ///   - ports: The ports that each listener's TCP sockets are bound to.
  ///   - listeners: The identities of the listeners, in the order of the settings. `nil` numbers them from 0.
  package static func snapshot(
    of settings: Settings, generation: UInt64, ports: [[UInt16]], listeners: [ListenerID]? = nil,
    tables: Snapshot.Tables? = nil,
    tokenHash: @escaping TokenHash = { TokenDigest.of($0) }
  ) -> Snapshot {
    var limits = HeadLimits()
    limits.headBytes = settings.limits.headBytes
    limits.fields = settings.limits.fields
    limits.targetBytes = settings.limits.targetBytes
    var responseLimits = HeadLimits.ofResponses
    responseLimits.headBytes = max(responseLimits.headBytes, limits.headBytes)
    responseLimits.fields = max(responseLimits.fields, limits.fields)
    var own: Set<String> = []
    let servicePorts = Set(
      zip(settings.listeners, ports).filter { $0.0.isOfOneService }.flatMap { $0.0.tcpPorts(bound: $0.1) })
    let admissions = settings.listeners.enumerated().map { index, listener in
      let authorities = listener.authorities(ports: index < ports.count ? ports[index] : [])
      own.formUnion(authorities ?? [])
      return Admission(
        callers: listener.callers, authorities: authorities,
        loopbackPorts: listener.loopbackPorts(ports: index < ports.count ? ports[index] : [], beside: servicePorts),
        clients: listener.clients, pages: listener.pages)
    }
    return Snapshot(
      generation: generation, rules: settings.rules, admissions: admissions, headLimits: limits,
      responseLimits: responseLimits, ownAuthorities: own,
      listeners: listeners, metricsListener: settings.metricsListener, tables: tables, tokenHash: tokenHash)
  }
}

extension ListenerSettings {
  /// Which ports `Host` may name together with a loopback name or address, in addition to the `authorities`.
  /// - Parameter servicePorts: the ports of all services with a port of their own.
  fileprivate func loopbackPorts(ports: [UInt16], beside servicePorts: Set<UInt16>) -> LoopbackPorts {
    let isLoopback = addresses.allSatisfy { address in
      switch address {
      case .localhost, .unix: true
      case .tcp(let ip, _): ip.isLoopback
      // Without clients, only sockets that this machine alone can reach are taken.
      case .systemd: clients.isEmpty
      }
    }
    guard isLoopback else { return .none }
    return isOfOneService ? .only(Set(tcpPorts(bound: ports))) : .any(except: servicePorts)
  }

  /// The TCP ports of its addresses.
  /// - Parameter bound: the ports of the sockets, which a port 0 and a socket of the service manager stand for.
  fileprivate func tcpPorts(bound: [UInt16]) -> [UInt16] {
    addresses.flatMap { address -> [UInt16] in
      switch address {
      case .localhost(let port), .tcp(_, let port): port == 0 ? bound : [port]
      case .systemd: bound
      case .unix: []
      }
    }
  }

  /// The values that `Host` may have here; nil when it is not checked (unix sockets only).
  package func authorities(ports: [UInt16]) -> [String]? {
    // A host that was mounted on port 0 stands on whatever port was bound.
    var names = extraAuthorities.flatMap { name in
      name.hasSuffix(":0") ? ports.map { "\(name.dropLast())\($0)" } : [name]
    }
    var hasTCP = false
    for address in addresses {
      switch address {
      case .tcp(let ip, let port) where !ip.isLoopback && !ip.isUnspecified:
        hasTCP = true
        let literal = ip.bytes.count == 16 ? "[\(ip)]" : "\(ip)"
        for port in port == 0 ? ports : [port] { names.append("\(literal):\(port)") }
      case .localhost(let port), .tcp(_, let port):
        hasTCP = true
        for port in port == 0 ? ports : [port] {
          names += ["localhost:\(port)", "127.0.0.1:\(port)", "[::1]:\(port)"]
        }
      case .unix: break
      case .systemd:
        hasTCP = hasTCP || !ports.isEmpty
        for port in ports { names += ["localhost:\(port)", "127.0.0.1:\(port)", "[::1]:\(port)"] }
      }
    }
    return hasTCP ? names : nil
  }
}

extension ConfigurationReader.Environment {
  /// - Parameter user: whom the daemon runs as; nil: this user.
  static func system(
    _ step: Preparation.Step, _ probe: FileProbe, _ answers: FileProbe.Answers, as user: UInt32? = nil
  ) -> Self {
    Self(
      uid: user ?? Users.currentUID,
      now: Clock.now.seconds,
      userID: { name in
        step.begin("the user \(name)")
        return Users.uid(named: name)
      },
      groupMembers: { name in
        step.begin("the group \(name)")
        return (UInt32(name) ?? Users.gid(named: name)).map(Users.members(ofGroup:))
      },
      files: FileQueries(
        status: { path in
          step.begin(path)
          return answers.status(of: path)
        },
        security: { path in
          step.begin(path)
          return answers.security(of: path)
        },
        answering: { probe.answering($0, into: answers) },
        content: { path in
          step.begin(path)
          do throws(SystemError) { return try FileReader.read(path: path, maximum: 4 << 20).bytes } catch { return nil }
        },
        matching: { pattern, directory in
          step.begin(pattern)
          do throws(SystemError) {
            return .success(try PathPattern(pattern, in: directory).matches())
          } catch { return .failure(FileProblem("\(error)")) }
        },
        text: { path in
          step.begin(path)
          do throws(SystemError) {
            let walk = FileWalk(path, as: user ?? Users.currentUID)
            let text = try FileReader.read(walk, maximum: 1 << 20).bytes
            answers.note(walk)
            return .success(text)
          } catch { return .failure(FileProblem("\(error)")) }
        }),
      auditProblem: { path in
        step.begin(path)
        guard let problem = AuditInspection(path: path).problem, !problem.isPassing else { return nil }
        return (problem.description, problem.help)
      },
      socketProblem: { path in
        step.begin(path)
        return UnixSocket.Outlook(path: path).problem.map { ($0.message, $0.help, $0.isPassing) }
      },
      hasIPv6: true, stateDirectory: StateDirectory.path)
  }
}

extension Diagnostic {
  /// The main file cannot be read.
  static func unreadable(_ file: String, _ error: SystemError) -> Diagnostic {
    guard error.isOfMissing else { return .about(file: file, "cannot be read: \(error)") }
    return .about(
      file: file, "there is no configuration here",
      help: "\"bearerctl init\" creates one, and \"bearerctl add openai\" creates one with a provider and its key")
  }
}
