/// Text to settings. Pure: what it has to know of the machine comes through `Environment`.
package struct ConfigurationReader {
  /// Facts of the machine that the reader needs and tests replace.
  package struct Environment: Sendable {
    /// The user that the daemon runs as.
    package var uid: UInt32
    /// Seconds since 1970, for `pins_expire`.
    package var now: Int64
    package var userID: @Sendable (String) -> UInt32?
    /// By name, or by number in decimal digits; nil: no such group.
    package var groupMembers: @Sendable (String) -> Set<UInt32>?
    package var files: FileQueries
    /// Why a start could not write this audit file, and what to do about it; nil: nothing is known to be in the way.
    package var auditProblem: @Sendable (String) -> (message: String, help: String?)?
    /// Why a start could make no unix socket there, what to do about it, and whether it may be over by itself; nil: nothing is
    /// known to be in the way.
    package var socketProblem: @Sendable (String) -> (message: String, help: String, isPassing: Bool)?
    /// Whether a client certificate and its key can be used together. Asked once all of a file is right.
    package var clientCertificate: @Sendable (CredentialSettings.ClientCertificate) -> ClientCertificateLook
    package var hasIPv6: Bool
    /// The directory where the daemon may keep what has to outlive it; nil: nothing says so.
    package var stateDirectory: String?

    package init(
      uid: UInt32, now: Int64, userID: @escaping @Sendable (String) -> UInt32?,
      groupMembers: @escaping @Sendable (String) -> Set<UInt32>?,
      files: FileQueries,
      auditProblem: @escaping @Sendable (String) -> (message: String, help: String?)?,
      socketProblem: @escaping @Sendable (String) -> (message: String, help: String, isPassing: Bool)? = { _ in nil },
      clientCertificate: @escaping @Sendable (CredentialSettings.ClientCertificate) -> ClientCertificateLook = { _ in
        .good(begins: 0, ends: .max, isForClients: true)
      },
      hasIPv6: Bool, stateDirectory: String? = nil
    ) {
      self.uid = uid
      self.now = now
      self.userID = userID
      self.groupMembers = groupMembers
      self.files = files
      self.auditProblem = auditProblem
      self.socketProblem = socketProblem
      self.clientCertificate = clientCertificate
      self.hasIPv6 = hasIPv6
      self.stateDirectory = stateDirectory
    }
  }

  /// All errors of the file in one go, or settings with warnings and advice. `file` should be absolute: paths in the file are
  /// relative to its directory.
  package static func read(
    text: [UInt8], file: String, environment: Environment, withAdvice: Bool = true
  ) -> Result<(Settings, warnings: [Diagnostic]), ConfigurationErrors> {
    let text = withoutMark(text)
    let report = Report(file: file, text: text)
    let reader = SettingsReader(report: report, environment: environment, file: file)
    reader.checkConfigurationFile(file, at: .wholeFile)
    var settings: Settings?
    var controlSocket: String?
    if let root = YAMLDocument.read(text, report: report) {
      report.hideSecrets(of: root, inFile: 0)
      settings = reader.settings(reader.withIncludedFiles(root))
      if settings == nil { controlSocket = reader.controlSocket(in: root) }
    } else {
      report.hideValues(ofFile: 0)
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

  /// Reads the control socket's path out of the main file alone, whatever that includes. `nil` if it does not say, or cannot be read.
  package static func controlSocket(text: [UInt8], file: String, environment: Environment) -> String? {
    let text = withoutMark(text)
    let report = Report(file: file, text: text)
    let reader = SettingsReader(report: report, environment: environment, file: file)
    return YAMLDocument.read(text, report: report).flatMap { reader.controlSocket(in: $0) }
  }

  /// Whether the file includes others.
  package static func includesFiles(text: [UInt8]) -> Bool {
    ConfigurationTree(reading: text)?[TopKey.include.rawValue] != nil
  }

  /// A configuration as one tree, whichever files its parts stand in. `nil`: `read` says why.
  package static func tree(text: [UInt8], file: String, environment: Environment) -> ConfigurationTree? {
    let text = withoutMark(text)
    let report = Report(file: file, text: text)
    let reader = SettingsReader(report: report, environment: environment, file: file)
    guard let root = YAMLDocument.read(text, report: report) else { return nil }
    let merged = reader.withIncludedFiles(root)
    guard report.errorCount == 0 else { return nil }
    var tree = ConfigurationTree(merged)
    tree[TopKey.include.rawValue] = nil
    return tree
  }
}

/// Some editors open every file with a byte order mark. To a parser of YAML it would be a column of the first line.
func withoutMark(_ text: [UInt8]) -> [UInt8] {
  let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
  return text.starts(with: mark) ? Array(text.dropFirst(mark.count)) : text
}

package struct ConfigurationErrors: Error, Sendable {
  /// In the order of the files; at least one of severity error, and no advice.
  package let diagnostics: [Diagnostic]
  /// The control socket, which the file names all the same: there its daemon can be asked.
  package let controlSocket: String?
}
