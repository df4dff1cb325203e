package import Settings

/// Reads settings from a configuration's text.
package struct ConfigurationReader {
  /// Facts about the machine, which tests can replace.
  package struct Environment: Sendable {
    package var uid: UInt32
    /// The time in seconds since 1970, for `pins_expire` and certificates.
    package var now: Int64
    package var userID: @Sendable (String) -> UInt32?
    /// Returns the members of a group by its name or decimal number. `nil` if there is no such group.
    package var groupMembers: @Sendable (String) -> Set<UInt32>?
    package var files: FileQueries
    /// Returns why the daemon could not write the audit file at a path, and what to do. `nil` if no problem is known.
    package var auditProblem: @Sendable (String) -> (message: String, help: String?)?
    /// Returns why the daemon could not create a Unix socket, what to do, and whether the problem may pass by itself.
    /// `nil` if no problem is known.
    package var socketProblem: @Sendable (String) -> (message: String, help: String, isPassing: Bool)?
    /// Checks a client certificate and its key.
    package var clientCertificate: @Sendable (CredentialSettings.ClientCertificate) -> ClientCertificateStatus
    /// Reads a file with revocation lists.
    package var revocationLists: @Sendable (String) -> RevocationListsStatus
    package var hasIPv6: Bool
    /// The directory for stored logins. `nil` if there is none.
    package var stateDirectory: String?
    /// Whether an environment variable of the current process is set.
    package var isVariableSet: @Sendable (String) -> Bool

    package init(
      uid: UInt32, now: Int64, userID: @escaping @Sendable (String) -> UInt32?,
      groupMembers: @escaping @Sendable (String) -> Set<UInt32>?,
      files: FileQueries,
      auditProblem: @escaping @Sendable (String) -> (message: String, help: String?)?,
      socketProblem: @escaping @Sendable (String) -> (message: String, help: String, isPassing: Bool)? = { _ in nil },
      clientCertificate: @escaping @Sendable (CredentialSettings.ClientCertificate) -> ClientCertificateStatus = { _ in
        .good(begins: 0, ends: .max, isForClients: true)
      },
      revocationLists: @escaping @Sendable (String) -> RevocationListsStatus = { _ in .good([]) },
      hasIPv6: Bool, stateDirectory: String? = nil, isVariableSet: @escaping @Sendable (String) -> Bool = { _ in true }
    ) {
      self.uid = uid
      self.now = now
      self.userID = userID
      self.groupMembers = groupMembers
      self.files = files
      self.auditProblem = auditProblem
      self.socketProblem = socketProblem
      self.clientCertificate = clientCertificate
      self.isVariableSet = isVariableSet
      self.revocationLists = revocationLists
      self.hasIPv6 = hasIPv6
      self.stateDirectory = stateDirectory
    }
  }

  /// Returns the settings with warnings and advice, or throws all errors. `file` should be an absolute path.
  package static func read(
    text: [UInt8], file: String, environment: Environment, withAdvice: Bool = true
  ) -> Result<(DaemonSettings, warnings: [Diagnostic]), ConfigurationErrors> {
    let context = ReadingContext(report: Report(file: file, text: text), environment: environment)
    let report = context.report
    FileChecks(context: context).checkConfigurationFile(file, at: .wholeFile)
    var settings: DaemonSettings?
    var controlSocket: String?
    if let root = YAMLDocument.read(text, report: report) {
      report.maskSecrets(of: root, inFile: 0)
      let reader = SettingsReader(context: context)
      settings = reader.settings(IncludeReader(context: context).merged(root))
      if settings == nil { controlSocket = reader.controlSocket(in: root) }
    } else {
      report.maskValues(ofFile: 0)
    }
    let diagnostics = report.diagnostics(withAdvice: withAdvice)
    guard report.errorCount == 0, let settings else {
      return .failure(
        ConfigurationErrors(
          diagnostics: diagnostics.filter { $0.severity != .advice },
          controlSocket: settings?.controlSocket ?? controlSocket))
    }
    return .success((settings, warnings: diagnostics))
  }

  /// Reads only the control socket's path. `nil` if the path is not set, or the file cannot be read.
  package static func controlSocket(text: [UInt8], file: String, environment: Environment) -> String? {
    let context = ReadingContext(report: Report(file: file, text: text), environment: environment)
    return YAMLDocument.read(text, report: context.report).flatMap {
      SettingsReader(context: context).controlSocket(in: $0)
    }
  }

  package static func includesFiles(text: [UInt8]) -> Bool {
    ConfigurationTree(reading: text)?[TopKey.include.rawValue] != nil
  }

  /// Returns the configuration, merged with its included files. `nil` if it has errors.
  package static func tree(text: [UInt8], file: String, environment: Environment) -> ConfigurationTree? {
    let context = ReadingContext(report: Report(file: file, text: text), environment: environment)
    guard let root = YAMLDocument.read(text, report: context.report) else { return nil }
    let merged = IncludeReader(context: context).merged(root)
    guard context.report.errorCount == 0 else { return nil }
    var tree = ConfigurationTree(merged)
    tree[TopKey.include.rawValue] = nil
    return tree
  }
}

package struct ConfigurationErrors: Error, Sendable {
  /// The messages in the order of the files, with at least one error.
  package let diagnostics: [Diagnostic]
  /// The control socket's path, if the file names one despite the errors.
  package let controlSocket: String?

  package init(diagnostics: [Diagnostic], controlSocket: String? = nil) {
    (self.diagnostics, self.controlSocket) = (diagnostics, controlSocket)
  }
}
