internal import Console
internal import ArgumentParser
internal import Audit
internal import Settings
internal import System

struct AuditCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit", abstract: "Verify the audit file.", subcommands: [AuditVerify.self])
}

struct AuditVerify: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Check that no line of the audit file was changed, removed, inserted or moved.",
    usage: "bearerctl audit verify [FILE ...] [--head CHAIN] [--control PATH | --config FILE]",
    discussion: """
      Follows the chain of records from the first to the last. Without FILE, the file that the configuration names is \
      verified.

        bearerctl audit verify
        bearerctl audit verify /var/log/bearerd/audit.log.1 --head CHAIN
        bearerctl audit verify audit.log.2 audit.log.1 audit.log

      Name several files from the oldest to the newest. They must form one chain: each file continues the one before it.

      The chain alone does not show whether its last records were cut off, or whether the whole file was written again. \
      So bearerctl asks the running daemon whether it writes this file, and which record it wrote last. The log also has \
      chain values (event=audit): when the daemon starts and stops, for each new file, and after every 10,000 records. With \
      --head, bearerctl looks for such a value.

      Exits with 0 if the chain is intact. Otherwise exits with 1 and names the line.
      """)

  @Argument(help: "The audit files, the oldest first.", completion: .file())
  var files: [String] = []

  // `.unconditional`, because one in 64 chain values begins with a hyphen.
  @Option(
    parsing: .unconditional,
    help: "A chain value that must be in one of the files. The log and bearerctl status show such values."
  )
  var head: String?

  @OptionGroup var daemon: ControlOptions

  func run() throws {
    let paths = files.isEmpty ? [try configured()] : files.map(absolute)
    let wanted = try head.map { text in
      guard let value = ChainHash(parsing: text) else {
        throw Failure(Failure.usage, "--head: expected a chain value of 43 letters, digits, \"-\" and \"_\"")
      }
      return value
    }
    // Asks the daemon before reading the files, so that its last record must be in them.
    let live = LiveAudit(asking: try? daemon.client())
    let check = try AuditCheck(paths)
    let isLive = try check.isLive(live)
    try check.run(seeking: wanted, last: isLive ? live.last : nil)
    StandardOutput.print(check.text + live.remark(isLive))
  }

  private func configured() throws -> String {
    let loaded = try LoadedConfiguration(daemon.config)
    guard let audit = loaded.settings.audit else {
      throw Failure(Failure.usage, "\(loaded.file) has no \"audit\" key. Name the file to verify")
    }
    return audit.file
  }
}
