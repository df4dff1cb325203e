package import Audit
package import Configuration
internal import Gateway
package import Log
package import Policy
internal import Synchronization
internal import System
package import TLS

/// All that a configuration needs of file systems and directory services, but its secrets. Made on any thread, since each of
/// them may take any time (T55).
package struct Preparation: Sendable {
  package let settings: Settings
  package let warnings: [Diagnostic]
  let trust: Trust
  package let audit: AuditTrail.Change
  /// Differences to the reach of the credentials of the configuration before; empty at a start.
  package let reachChanges: [CredentialReach.Change]
  package let tables: PreparedTables
  /// Files of secrets that could not be looked at yet.
  let unanswered: Set<String>

  /// The certificates that chains may end in.
  package struct Trust: Sendable {
    /// The `ca_file`s, by path.
    let stores: [String: TrustStore]
    /// nil: no service wants the system's.
    let system: Result<TrustStore, TLSError>?
    /// Our own, which upstreams may ask for.
    let certificates: ClientCertificates

    package func store(for trust: TrustPolicy) throws(TLSError) -> TrustStore {
      if let file = trust.caFile, let store = stores[file] { return store }
      guard let system else { throw TLSError(kind: .internalError, detail: "the system's certificates were not read") }
      return try system.get()
    }
  }

  /// The step of the reading at the moment.
  package final class Step: Sendable {
    private let current = Mutex("")
    private let onBegin: @Sendable (String) -> Void

    package init(onBegin: @escaping @Sendable (String) -> Void = { _ in }) { self.onBegin = onBegin }

    func begin(_ name: String) {
      current.withLock { $0 = name }
      onBegin(name)
    }
    package var name: String { current.withLock { $0 } }
  }

  /// - Parameters:
  ///   - audited: the audit file that is being written.
  ///   - before: the configuration that it replaces; nil: a start.
  ///   - privateUse: the only user of a daemon on free ports. `nil` if the configuration says who may use it.
  package init(
    file: String, privateUse: PrivateUse? = nil, audited: AuditFile? = nil, before: PreparedTables.Former? = nil,
    probe: FileProbe, step: Step
  ) throws(StartError) {
    let settings: Settings
    do throws(LoadError) {
      let loaded = try ConfigurationLoader.load(file, withAdvice: false, probe: probe, step: step)
      settings =
        privateUse.map {
          loaded.settings.onFreePorts(for: $0, after: before?.settings, isFree: LoopbackPort.isFree)
        } ?? loaded.settings
      unanswered = loaded.unanswered
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

  /// For a start, which has no loop yet: the same, given up after a time. Without the configuration itself, the certificates and
  /// the users that it names, nothing could be served; secrets, and programs that print them, are not waited for.
  package static func atStart(
    file: String, privateUse: PrivateUse?, seconds: Int, probe: FileProbe
  ) throws(StartError) -> Preparation {
    let (step, outcome, end) = (Step(), Outcome(), ThreadSignal())
    let thread = BackgroundThread {
      let result: Result<Preparation, StartError>
      do throws(StartError) {
        result = .success(try Preparation(file: file, privateUse: privateUse, probe: probe, step: step))
      } catch {
        result = .failure(error)
      }
      outcome.value.withLock { $0 = result }
      end.give()
    }
    guard thread.isStarted else {
      return try Preparation(file: file, privateUse: privateUse, probe: probe, step: step)
    }
    guard end.wait(milliseconds: seconds * 1_000), let result = outcome.value.withLock({ $0 }) else {
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

  private static func systemTrust(for settings: Settings, step: Step) -> Result<TrustStore, TLSError>? {
    let services = settings.rules.services
    let isWanted =
      services.contains { $0.upstream.origin.scheme == .https && $0.trust.caFile == nil }
      || settings.credentials.contains { ($0.token?.trust ?? $0.login?.trust).map { $0.caFile == nil } ?? false }
    guard isWanted else { return nil }
    step.begin("the system's certificates")
    do throws(TLSError) { return .success(try TrustStore.system()) } catch { return .failure(error) }
  }
}
