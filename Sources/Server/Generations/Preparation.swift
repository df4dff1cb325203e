package import Audit
package import Configuration
package import Loading
package import Log
package import Policy
package import Settings
internal import StatusModel
internal import Synchronization
internal import System
package import TLS

/// Everything that a configuration needs from files, users and groups, except its secrets (T55). Create it on a
/// separate thread, because it can block.
package struct Preparation: Sendable {
  package let settings: DaemonSettings
  package let warnings: [Diagnostic]
  let trust: Trust
  package let audit: AuditTrail.Change
  /// Changes in the use of credentials since the previous configuration. Empty at the start.
  package let reachChanges: [CredentialReach.Change]
  package let tables: PreparedTables
  private let unresponsiveFiles: Set<String>

  /// The secret files that do not respond.
  package var unresponsiveSources: Set<SecretSource> {
    tables.secretFiles.intersection(unresponsiveFiles.map { .file($0) })
  }

  /// The trusted certificate authorities for upstreams, and the client certificates.
  package struct Trust: Sendable {
    /// The certificates and revocation lists of all `ca_file` and `crl_file` keys.
    let stores: [TrustPolicy.Files: TrustStore]
    /// The system's certificate authorities. `nil` if no upstream or token endpoint uses them.
    let system: Result<TrustStore, TLSError>?
    let certificates: ClientCertificates

    /// Returns the validity of the certificate of a `ca_file` that expires first.
    package func validity(ofAuthorities files: TrustPolicy.Files) -> Validity? { stores[files]?.validity }

    package func validity(of certificate: CredentialSettings.ClientCertificate) -> Validity? {
      certificates[certificate]?.validity
    }

    package func store(for trust: TrustPolicy) throws(TLSError) -> TrustStore {
      guard trust.files.areSystem else {
        if let store = stores[trust.files] { return store }
        throw TLSError(kind: .internalError, detail: "the certificates of this service were not read")
      }
      guard let system else { throw TLSError(kind: .internalError, detail: "the system's certificates were not read") }
      return try system.get()
    }

    /// Returns the client certificate of a credential, or `nil` if it has none. Throws if the credential's `origins` do
    /// not include `origin`.
    func certificate(
      of credential: CredentialSettings, _ grant: Grant, for origin: Origin
    ) throws(TLSError) -> ClientCertificate? {
      guard let wanted = credential.certificate else { return nil }
      guard grant.allows(origin) else {
        throw TLSError(kind: .noClientCertificate, detail: "credential \(grant.name) is not allowed to go to \(origin)")
      }
      return try certificate(wanted)
    }

    func certificate(_ wanted: CredentialSettings.ClientCertificate) throws(TLSError) -> ClientCertificate {
      if let known = certificates[wanted] { return known }
      let detail = "\(wanted.file), or its key, \(wanted.key.summary), could not be read: put it there, and reload"
      throw TLSError(kind: .noClientCertificate, detail: detail)
    }
  }

  /// - Parameters:
  ///   - privateUse: the options of a daemon that `bearerctl run` starts for one user. `nil` for other daemons.
  ///   - audited: the audit file in use. `nil` if there is none.
  ///   - before: the configuration to replace. `nil` at the start.
  package init(
    file: String, privateUse: PrivateUse? = nil, audited: AuditFile? = nil, before: PreparedTables.Former? = nil,
    probe: FileProbe, step: LoadingStep
  ) throws(StartError) {
    let settings: DaemonSettings
    do throws(LoadError) {
      let loaded = try ConfigurationLoader.load(file, withAdvice: false, probe: probe, step: step)
      settings =
        privateUse.map {
          loaded.settings.onFreePorts(for: $0, after: before?.settings, isFree: LoopbackPort.isFree)
        } ?? loaded.settings
      unresponsiveFiles = loaded.unresponsiveFiles
      warnings = loaded.findings.filter { $0.severity == .warning }
      trust = Trust(
        stores: loaded.stores, system: Preparation.systemTrust(for: loaded.settings, step: step),
        certificates: loaded.certificates)
      if loaded.settings.credentials.flatMap(\.sources).contains(where: \.isCommand) {
        step.begin("the home directory")
        HelperProcess.prepare()
      }
    } catch {
      throw .configuration(error.diagnostics)
    }
    self.settings = settings
    reachChanges = before.map { CredentialReach.changes(from: $0.settings, to: settings) } ?? []
    tables = PreparedTables(settings, after: before)
    step.begin(settings.audit?.file ?? "")
    audit = try AuditTrail.Change(for: settings.audit, of: settings.file, from: audited)
  }

  private final class Outcome: Sendable {
    let value = Mutex<Result<Preparation, StartError>?>(nil)
  }

  /// Prepares a configuration when the daemon starts. Throws an error if this takes more than `seconds`.
  package static func atStart(
    file: String, privateUse: PrivateUse?, seconds: Int, probe: FileProbe
  ) throws(StartError) -> Preparation {
    let (step, outcome, finished) = (LoadingStep(), Outcome(), ThreadSignal())
    let thread = BackgroundThread {
      let result = Result { () throws(StartError) in
        try Preparation(file: file, privateUse: privateUse, probe: probe, step: step)
      }
      outcome.value.withLock { $0 = result }
      finished.signal()
    }
    guard thread.isStarted else {
      return try Preparation(file: file, privateUse: privateUse, probe: probe, step: step)
    }
    guard finished.wait(milliseconds: seconds * 1_000), let result = outcome.value.withLock({ $0 }) else {
      throw .system("a file system does not respond: \(step.name) is still being read after \(seconds) s")
    }
    thread.join()
    return try result.get()
  }

  package func report(to log: EventLog) { for warning in warnings { Preparation.report(warning, to: log) } }

  package static func report(_ warning: Diagnostic, to log: EventLog) {
    log.event(
      .configuration, ("file", warning.file), ("line", String(warning.line)), ("detail", warning.message))
  }

  private static func systemTrust(for settings: DaemonSettings, step: LoadingStep) -> Result<TrustStore, TLSError>? {
    guard settings.tlsServers.contains(where: \.trust.files.areSystem) else { return nil }
    step.begin("the system's certificates")
    do throws(TLSError) { return .success(try TrustStore.system()) } catch { return .failure(error) }
  }
}
