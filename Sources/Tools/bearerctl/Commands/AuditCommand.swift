internal import Console
internal import ArgumentParser
internal import Audit
internal import Configuration
internal import System

/// `bearerctl audit`
struct AuditCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit", abstract: "Is the record of requests whole?", subcommands: [AuditVerify.self])
}

/// `bearerctl audit verify`
struct AuditVerify: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Was a line of the audit file changed, removed, inserted or moved?",
    usage: "bearerctl audit verify [FILE ...] [--head CHAIN] [--control PATH | --config FILE]",
    discussion: """
      Follows the chain from the first line to the last. Without FILE it is the one that the configuration names.

        bearerctl audit verify
        bearerctl audit verify /var/log/bearerd/audit.log.1 --head CHAIN
        bearerctl audit verify audit.log.2 audit.log.1 audit.log

      Several files, the oldest first, have to be one chain: each goes on from the one before it.

      A chain does not show that its end was cut off, or that all of it was written anew. So the running daemon is asked \
      whether this is its file, and which record it wrote last; and the log has such values (event=audit) from the start, \
      from each reload, from every 10,000 records and from the end: --head looks for one of them.

      Exits with 0 if the chain holds, and with 1, naming the line, if not.
      """)

  @Argument(help: "The audit file, or several, the oldest first.", completion: .file())
  var files: [String] = []

  // One in sixty-four begins with a hyphen.
  @Option(
    parsing: .unconditional,
    help: "A chain value that has to be in one of the files: one of the log's, or of bearerctl status."
  )
  var head: String?

  @OptionGroup var daemon: ControlOptions

  func run() throws {
    let paths = files.isEmpty ? [try configured()] : files.map(absolute)
    let wanted = try head.map { text in
      guard let value = ChainHash(parsing: text) else {
        throw Failure(Failure.usage, "--head wants a chain value: 43 letters, digits, \"-\" and \"_\"")
      }
      return value
    }
    // Asked first: what it has written by now has to be in what is read afterwards.
    let live = LiveAudit(asking: try? daemon.client())
    let check = try AuditCheck(paths)
    let isLive = try check.isLive(live)
    try check.run(seeking: wanted, last: isLive ? live.last : nil)
    StandardOutput.print(check.text + live.remark(isLive))
  }

  private func configured() throws -> String {
    let loaded = try LoadedConfiguration(daemon.config)
    guard let audit = loaded.settings.audit else {
      throw Failure(Failure.usage, "\(loaded.file) has no audit section, so there is no file to verify")
    }
    return audit.file
  }
}
