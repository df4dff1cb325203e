internal import Console
internal import ArgumentParser
internal import Configuration
internal import Settings
internal import Loading
internal import Policy
internal import System

struct Check: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check the configuration, and suggest how to make it stronger.",
    usage: "bearerctl check [FILE | - | -c FILE] [--as PATH] [--strict]",
    discussion: """
      Prints every error, warning and piece of advice, each with the line to change or to add. For each credential it \
      also prints whether its source exists. No secret is opened, and nothing is changed.

        bearerctl check
        bearerctl check ~/.config/bearerd/bearerd.yaml
        bearerctl check --strict && systemctl reload bearerd
        bearerctl check new.yaml --as /etc/bearerd/bearerd.yaml
        render-template | bearerctl check - --as /etc/bearerd/bearerd.yaml

      With --as, the file is checked as if it were already at that path: relative paths begin in its directory, and \
      messages name that path. With -, the file is read from standard input. Advice that applies to several places is \
      printed once.

      The check runs with your own permissions. For the system's daemon, run: sudo -u bearerd bearerctl check

      Exits with 0 if the file can be used, with 2 if not, and with 71 if a file system does not respond.
      """)

  @Argument(help: "The configuration. - reads standard input.", completion: .file(extensions: ["yaml"]))
  var file: String?

  @Option(config: "The configuration, as in other commands.")
  var config: String?

  @Option(
    name: .customLong("as"), help: "Check the file as if it were at this path.",
    completion: .file(extensions: ["yaml"]))
  var targetPath: String?

  @Flag(help: "Exit with 1 if there is a warning.")
  var strict = false

  func validate() throws {
    if file != nil, config != nil { throw ValidationError("write FILE or -c FILE, not both") }
  }

  func run() throws {
    let source = try CheckedSource(file ?? config ?? ConfigurationLoader.defaultFile, targetPath: targetPath)
    let path = source.path
    let terminal = Terminal.output
    let silent = try DryRun(path, as: nil, text: source.text).silent
    do {
      let (settings, findings) = try ConfigurationLoader.load(path, unresponsive: silent, text: source.text)
      StandardOutput.print(
        RepeatedAdvice.gathered(findings).map { terminal.shown($0) + "\n\n" }.joined() + sources(of: settings, silent)
          + summary(path, settings, findings, terminal))
      if strict, findings.contains(where: { $0.severity == .warning }) { throw Failure(Failure.no) }
    } catch let error as LoadError {
      let errors = error.diagnostics.count { $0.severity == .error }
      StandardOutput.print(
        error.diagnostics.map { terminal.shown($0) + "\n\n" }.joined()
          + "\(path): \(terminal.bad(counted(errors, "error"))); bearerd cannot use this file\n")
      throw Failure(Failure.usage)
    }
  }

  private func sources(of settings: DaemonSettings, _ silent: Set<String>) -> String {
    let text =
      credentials(of: settings, silent) + sockets(of: settings)
      + (settings.audit.map { "audit  \(auditStatus(path: $0.file))\n" } ?? "")
    return text.isEmpty ? "" : text + "\n"
  }

  private func credentials(of settings: DaemonSettings, _ silent: Set<String>) -> String {
    let credentials = settings.credentials.filter { !$0.isCombined }
    let width = credentials.map(\.name.count).max() ?? 0
    return credentials.map { credential in
      let lines = credential.allSources.map { SourceStatus($0, silent: silent).description }
      let blank = String(repeating: " ", count: width)
      return lines.enumerated()
        .map { "credential \(($0 == 0 ? credential.name : blank).padded(to: width))  \($1)\n" }.joined()
    }.joined()
  }

  /// Returns notes about Unix sockets that only another user can create, or that could not be checked.
  private func sockets(of settings: DaemonSettings) -> String {
    var lines = ""
    for listener in settings.listeners {
      for case .unix(let path, _) in listener.addresses {
        let check = UnixSocket.Check(path: path)
        var parts = check.uncheckedReason.map { ["not checked: \($0.harmless)"] } ?? []
        if let maker = check.creator, let other = otherUser(maker) {
          parts.append("only a bearerd that runs as \(other) can create it, not one that you start")
        }
        if !parts.isEmpty { lines += "socket  \(path.harmless): \(parts.joined(separator: "; "))\n" }
      }
    }
    return lines
  }

  private func summary(
    _ path: String, _ settings: DaemonSettings, _ findings: [Diagnostic], _ terminal: Terminal
  ) -> String {
    let parts = [
      counted(settings.rules.services.count, "service"),
      counted(settings.credentials.count { !$0.isCombined }, "credential"),
      counted(settings.listeners.count, "listener"),
    ]
    let warnings = findings.count { $0.severity == .warning }
    let advice = findings.count { $0.severity == .advice }
    var notes: [String] = []
    if warnings > 0 { notes.append(terminal.warning(counted(warnings, "warning"))) }
    if advice > 0 { notes.append(counted(advice, "piece of advice", "pieces of advice")) }
    return "\(path): \(terminal.good("fine")): \(parts.joined(separator: ", "))"
      + (notes.isEmpty ? "\n" : "; \(notes.joined(separator: ", "))\n")
  }
}

extension Terminal {
  fileprivate func shown(_ finding: Diagnostic) -> String {
    let word = "\(finding.severity.rawValue):"
    let text = finding.description
    guard isStyled, let range = text.firstRange(of: " \(word)") else { return text }
    let styled =
      switch finding.severity {
      case .error: bad(word)
      case .warning: warning(word)
      case .advice: advice(word)
      }
    return bold(String(text[..<range.lowerBound])) + " " + styled + text[range.upperBound...]
  }
}
