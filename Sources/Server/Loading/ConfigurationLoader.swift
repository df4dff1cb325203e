internal import Audit
package import Configuration
internal import Crypto
package import Gateway
internal import HTTP1
package import Policy
package import Settings
package import System
package import TLS

package typealias LoadError = ConfigurationErrors

package enum ConfigurationLoader {
  package static let systemFile = "/etc/bearerd/bearerd.yaml"

  /// The configuration file for commands that get no `--config` option.
  package static var defaultFile: String {
    if Users.currentUID < 1000 { return systemFile }
    if let base = ProcessEnvironment.value("XDG_CONFIG_HOME"), base.hasPrefix("/") {
      return base + "/bearerd/bearerd.yaml"
    }
    return (ProcessEnvironment.value("HOME") ?? "") + "/.config/bearerd/bearerd.yaml"
  }

  /// Reads and checks a configuration, but reads no secret.
  /// - Parameters:
  ///   - user: the user that the daemon runs as. `nil` for the current user.
  ///   - unresponsive: secret files that are known not to respond.
  ///   - text: the content to check. `nil` to read the file.
  package static func load(
    _ file: String, as user: UInt32? = nil, unresponsive: Set<String> = [], text: [UInt8]? = nil
  ) throws(LoadError) -> (settings: DaemonSettings, findings: [Diagnostic]) {
    let loaded = try load(
      file, as: user, text: text, probe: FileProbe(unresponsive: unresponsive), step: LoadingStep())
    return (loaded.settings, loaded.findings)
  }

  /// Returns the configuration, merged with its included files. `nil` if it is invalid.
  package static func tree(of file: String) throws(SystemError) -> ConfigurationTree? {
    let text = try FileReader.read(path: file, maximum: 1 << 20).bytes
    // For root, a file of another user is checked as for this user.
    let user = Users.currentUID == 0 ? FileStatus(path: file)?.owner ?? 0 : Users.currentUID
    let results = FileProbe.Results(as: user)
    let environment = ConfigurationReader.Environment.system(LoadingStep(), FileProbe(), results, as: user)
    return ConfigurationReader.tree(text: text, file: file, environment: environment)
  }

  package struct Loaded {
    package let settings: DaemonSettings
    package let findings: [Diagnostic]
    /// The certificates and revocation lists of all `ca_file` and `crl_file` keys.
    package let stores: [TrustPolicy.Files: TrustStore]
    package let certificates: ClientCertificates
    /// Secret files and helper programs that did not respond.
    package let unresponsiveFiles: Set<String>
  }

  package static func load(
    _ file: String, as user: UInt32? = nil, text: [UInt8]? = nil, withAdvice: Bool = true, probe: FileProbe,
    step: LoadingStep
  ) throws(LoadError) -> Loaded {
    step.begin(file)
    let results = FileProbe.Results(as: user ?? Users.currentUID)
    let written: [UInt8]
    do throws(SystemError) {
      written = if let text { text } else { try readText(file, as: user, noting: results) }
    } catch {
      throw LoadError(diagnostics: [.unreadable(file, error)])
    }
    let certificates = ClientCertificates()
    let lists = RevocationFiles(user: user ?? Users.currentUID)
    var environment = ConfigurationReader.Environment.system(step, probe, results, as: user)
    environment.clientCertificate = { certificate in
      step.begin(certificate.file)
      return certificates.inspect(certificate)
    }
    environment.revocationLists = { path in
      step.begin(path)
      return lists.inspect(path)
    }
    let (settings, warnings) = try ConfigurationReader.read(
      text: written, file: file, environment: environment, withAdvice: withAdvice
    ).get()
    return Loaded(
      settings: settings, findings: warnings,
      stores: try trustStores(of: settings, lists, as: user ?? Users.currentUID, step: step),
      certificates: certificates,
      unresponsiveFiles: results.unresponsiveFiles)
  }

  private static func trustStores(
    of settings: DaemonSettings, _ lists: RevocationFiles, as user: UInt32, step: LoadingStep
  ) throws(LoadError) -> [TrustPolicy.Files: TrustStore] {
    var stores: [TrustPolicy.Files: TrustStore] = [:]
    var plain: [String: TrustStore] = [:]
    for server in settings.tlsServers where !server.trust.files.areSystem && stores[server.trust.files] == nil {
      let (name, trust) = (server.name, server.trust)
      var key = "ca_file"
      do {
        var store: TrustStore
        if let file = trust.caFile {
          step.begin(file)
          store = try plain[file] ?? certificates(in: file, as: user)
          plain[file] = store
        } else {
          // The system's store is shared, so the lists get a store of their own.
          key = "revocation"
          step.begin("the system's certificates")
          store = try TrustStore.system()
        }
        if let file = trust.files.listFile {
          key = "revocation.crl_file"
          step.begin(file)
          store = try TrustStore(store, lists: try lists.lists(in: file).get())
        }
        stores[trust.files] = store
      } catch {
        throw LoadError(
          diagnostics: [.about(file: settings.file, "\(name).\(key): \(error)")],
          controlSocket: settings.controlSocket)
      }
    }
    return stores
  }

  private static func certificates(in file: String, as user: UInt32) throws -> TrustStore {
    do {
      let pem = try FileReader.read(try FileWalk(file, as: user).validated(), maximum: 4 << 20).bytes
      return try TrustStore(pem: pem, name: file)
    } catch {
      throw FileProblem("\(file): \(error)")
    }
  }

  /// Returns the snapshot that `Gateway` uses for its decisions.
  /// - Parameters:
  ///   - ports: the bound TCP ports of each listener.
  ///   - listeners: the identities of the listeners. `nil` to number them from 0.
  package static func snapshot(
    of settings: DaemonSettings, generation: UInt64, ports: [[UInt16]], listeners: [ListenerID]? = nil,
    tables: Snapshot.Tables? = nil,
    tokenHash: @escaping TokenHash = { TokenDigest.of($0) }
  ) -> Snapshot {
    var limits = HeadLimits()
    limits.headBytes = settings.limits.head
    limits.fields = settings.limits.fields
    limits.targetBytes = settings.limits.target
    var responseLimits = HeadLimits.forResponses
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
      listeners: listeners, metricsListener: settings.metricsListener,
      discoveryListeners: settings.listeners.indices.filter { settings.listeners[$0].offersDiscovery }, tables: tables,
      tokenHash: tokenHash, webSocketHash: { sha1(of: $0) })
  }
}

extension ListenerSettings {
  /// Returns the ports that a `Host` field may have after a loopback name or address.
  /// - Parameters:
  ///   - ports: the bound ports of this listener.
  ///   - servicePorts: the ports of all listeners that serve a single service.
  fileprivate func loopbackPorts(ports: [UInt16], beside servicePorts: Set<UInt16>) -> LoopbackPorts {
    let isLoopback = addresses.allSatisfy { address in
      switch address {
      case .localhost, .unix: true
      case .tcp(let ip, _): ip.isLoopback
      // Without `clients:`, an inherited socket is accepted only if other machines cannot reach it.
      case .systemd: clients.isEmpty
      }
    }
    guard isLoopback else { return .none }
    return isOfOneService ? .only(Set(tcpPorts(bound: ports))) : .any(except: servicePorts)
  }

  /// Returns the TCP ports of the listener's addresses, with `bound` in place of port 0 and unknown ports.
  fileprivate func tcpPorts(bound: [UInt16]) -> [UInt16] {
    addresses.flatMap { address -> [UInt16] in
      switch address {
      case .localhost(let port), .tcp(_, let port): port == 0 ? bound : [port]
      case .systemd: bound
      case .unix: []
      }
    }
  }

  /// Returns the permitted values of `Host`. `nil` if `Host` is not checked.
  /// - Parameter ports: the ports of the bound sockets.
  package func authorities(ports: [UInt16]) -> [String]? {
    // A host with port 0 gets the ports that were bound.
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
  /// Returns an environment that reads this machine's files, users and groups.
  /// - Parameter user: the user that the daemon runs as. `nil` for the current user.
  static func system(
    _ step: LoadingStep, _ probe: FileProbe, _ results: FileProbe.Results, as user: UInt32? = nil
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
          return results.status(of: path)
        },
        security: { path in
          step.begin(path)
          return results.security(of: path)
        },
        responding: { probe.findResponsive($0, into: results) },
        content: { path in
          step.begin(path)
          do throws(SystemError) { return try FileReader.read(path: path, maximum: 4 << 20).bytes } catch { return nil }
        },
        matching: { pattern, directory in
          step.begin(pattern)
          return Result { () throws(SystemError) in try PathPattern(pattern, in: directory).matches() }
            .mapError { FileProblem("\($0)") }
        },
        text: { path in
          step.begin(path)
          return Result { () throws(SystemError) in try readText(path, as: user, noting: results) }
            .mapError { FileProblem("\($0)") }
        }),
      auditProblem: { path in
        step.begin(path)
        guard let problem = AuditInspection(path: path).problem, !problem.isTransient else { return nil }
        return (problem.description, problem.help)
      },
      socketProblem: { path in
        step.begin(path)
        return UnixSocket.Check(path: path).problem.map { ($0.message, $0.help, $0.isTransient) }
      },
      hasIPv6: true, stateDirectory: StateDirectory.path, isVariableSet: ProcessEnvironment.isSet)
  }
}

private func readText(
  _ path: String, as user: UInt32?, noting results: FileProbe.Results
) throws(SystemError) -> [UInt8] {
  let walk = FileWalk(path, as: user ?? Users.currentUID)
  let text = try FileReader.read(walk, maximum: 1 << 20).bytes
  results.note(walk)
  return text
}

extension Diagnostic {
  static func unreadable(_ file: String, _ error: SystemError) -> Diagnostic {
    guard error.isNotFound else { return .about(file: file, "cannot be read: \(error)") }
    return .about(
      file: file, "there is no configuration here",
      help: "\"bearerctl init\" creates one, and \"bearerctl add openai\" creates one with a provider and its key")
  }
}
