internal import Primitives

/// Checks whether other users could change or read the files that a configuration names.
struct FileChecks: SectionReader {
  let context: ReadingContext

  private static let root: UInt32 = 0
  private static let othersAndGroupWrite: UInt32 = 0o022
  private static let othersAny: UInt32 = 0o007
  private static let groupRead: UInt32 = 0o040
  private static let anyExecute: UInt32 = 0o111

  /// Checks that no other user can write a configuration file, which decides where credentials are sent (T51).
  func checkConfigurationFile(_ file: String, at location: TextLocation) {
    guard let status = environment.files.status(file) else { return }
    let security = environment.files.security(file)
    if status.mode & Self.othersAndGroupWrite != 0, !security.isReadOnly {
      report.error(
        location,
        "others can write this file (mode \(octal(status.mode))), and could send your credentials to another server",
        help: "chmod go-w \(ShellWord.quoted(file))")
    }
    if !isTrusted(status.owner), !security.isReadOnly {
      report.error(
        location,
        "this file belongs to uid \(status.owner), who could change it and send your credentials to another server",
        help: "chown root \(ShellWord.quoted(file))")
    }
    if let problem = security.problem { report.error(location, problem.message, help: problem.help) }
    reportException(security, location)
  }

  private func reportException(_ security: PathSecurity, _ location: TextLocation) {
    guard let problem = security.toleratedProblem else { return }
    report.advice(location, "\(problem). bearerd accepts this, because the mount is read-only")
  }

  /// Checks the secret files, programs and stored logins of all credentials.
  func checkNamedFiles() {
    let answering = environment.files.responding(context.namedFiles.paths)
    for (path, kind, location) in context.namedFiles.all {
      guard answering.contains(path) else {
        report.warning(
          location, "\(path) does not respond: until it does, requests with this credential get 503",
          help: "check whether the file server of this path is reachable")
        continue
      }
      switch kind {
      case .secret: checkSecretFile(path, at: location)
      case .program: checkProgram(path, at: location)
      case .store: checkStore(path, at: location)
      }
    }
  }

  /// Checks a secret file, and only warns if it is missing.
  private func checkSecretFile(_ path: String, at location: TextLocation) {
    guard let status = environment.files.status(path) else {
      report.warning(
        location, "\(path) not found: requests with this credential get 503",
        help:
          "create the file with: install -m 0600 /dev/null \(ShellWord.quoted(path)). Then put the secret into it"
      )
      return checkPathSecurity(of: path, at: location)
    }
    guard status.isRegular else { return refuse("\(path) is not a regular file", at: location) }
    let security = environment.files.security(path)
    let forbidden = security.isMountOfSecrets ? Self.othersAndGroupWrite : Self.othersAny | Self.othersAndGroupWrite
    if status.mode & forbidden != 0 {
      refuse(
        "others can \(status.mode & Self.othersAny != 0 ? "read or change" : "change") \(path) (mode \(octal(status.mode)))",
        at: location, help: "chmod o-rwx,g-w \(ShellWord.quoted(path))" + security.containerHelp)
    } else if status.mode & Self.othersAny != 0, security.isReadOnly || isTrusted(status.owner) {
      let mount = security.isReadOnly ? "a read-only mount" : "a container's in-memory file system"
      report.warning(
        location,
        "others can read \(path) (mode \(octal(status.mode))). bearerd still uses the file, because it is on \(mount)",
        help: "let only the daemon read it" + security.containerHelp)
    }
    if !isTrusted(status.owner), !security.isReadOnly {
      refuse(
        "\(path) belongs to uid \(status.owner), who can change it", at: location,
        help: "chown root \(ShellWord.quoted(path))" + security.containerHelp)
    } else if status.owner != Self.root, status.mode & Self.groupRead != 0, !security.isMountOfSecrets {
      // A file of root has the daemon's group. The groups of other owners are unknown.
      refuse(
        "the group can read \(path) (mode \(octal(status.mode)))", at: location,
        help: "chmod g-r \(ShellWord.quoted(path))")
    }
    if environment.uid != Self.root, status.owner == Self.root, status.mode & 0o044 == 0 {
      let file = ShellWord.quoted(path)
      refuse(
        "only root can read \(path) (mode \(octal(status.mode)))", at: location,
        help: environment.uid < 1000
          ? "chgrp bearerd \(file) && chmod 0640 \(file)" : "chown \(environment.uid) \(file)")
    }
    if security.isEmpty { refuse("\(path) is empty", at: location, help: "put the secret into it") }
    checkPathSecurity(of: path, at: location)
  }

  /// Checks that other users cannot change or create the file of a stored login.
  private func checkStore(_ path: String, at location: TextLocation) {
    guard environment.files.status(path) == nil else { return checkSecretFile(path, at: location) }
    checkPathSecurity(of: path, at: location)
  }

  /// Checks that no other user can replace a program that prints a secret (T42).
  private func checkProgram(_ path: String, at location: TextLocation) {
    guard let status = environment.files.status(path) else {
      return report.error(location, "program \(path) not found")
    }
    guard status.isRegular else { return report.error(location, "\(path) is not a regular file") }
    if status.mode & Self.anyExecute == 0 {
      report.error(
        location, "\(path) is not executable (mode \(octal(status.mode)))", help: "chmod +x \(ShellWord.quoted(path))")
    }
    checkOnlyOurs(path, status.owner, status.mode, at: location)
  }

  private func checkPathSecurity(of path: String, at location: TextLocation) {
    let security = environment.files.security(path)
    if let problem = security.problem { refuse(problem.message, at: location, help: problem.help) }
    reportException(security, location)
  }

  /// Warns that the daemon does not use the file of a credential.
  private func refuse(_ message: String, at location: TextLocation, help: String? = nil) {
    report.warning(
      location, "\(message): bearerd does not use it, and requests with this credential get 503", help: help)
  }

  /// Checks that a file of revocation lists exists, and that no other user can change it. Returns `false` if the file
  /// cannot be read.
  func checkRevocationLists(_ path: String, at location: TextLocation) -> Bool {
    guard let status = environment.files.status(path) else {
      report.error(
        location, "\(path) does not exist, or cannot be read", help: "put the authority's current revocation list there"
      )
      return false
    }
    guard status.isRegular else {
      report.error(location, "\(path) is not a regular file")
      return false
    }
    checkOnlyOurs(path, status.owner, status.mode, at: location)
    return true
  }

  func checkCertificates(_ path: String, at location: TextLocation) {
    guard let status = environment.files.status(path), let text = environment.files.content(path) else {
      return report.error(location, "\(path) does not exist, or cannot be read")
    }
    guard status.isRegular else { return report.error(location, "\(path) is not a regular file") }
    checkOnlyOurs(path, status.owner, status.mode, at: location)
    if text.firstRange(of: "-----BEGIN CERTIFICATE-----".utf8) == nil {
      report.error(location, "no certificate in \(path)", help: "expected a PEM file with -----BEGIN CERTIFICATE-----")
    }
  }

  /// Checks that only root and the daemon's user can change or replace the file.
  private func checkOnlyOurs(_ path: String, _ owner: UInt32, _ mode: UInt32, at location: TextLocation) {
    let security = environment.files.security(path)
    if mode & Self.othersAndGroupWrite != 0, !security.isReadOnly {
      report.error(
        location, "others can change \(path) (mode \(octal(mode)))", help: "chmod go-w \(ShellWord.quoted(path))")
    }
    if !isTrusted(owner), !security.isReadOnly {
      report.error(
        location, "\(path) belongs to uid \(owner), who can change it", help: "chown root \(ShellWord.quoted(path))")
    }
    if let problem = security.problem { report.error(location, problem.message, help: problem.help) }
    reportException(security, location)
  }

  private func isTrusted(_ owner: UInt32) -> Bool { owner == Self.root || owner == environment.uid }
}

/// The secret files, programs and login stores of a configuration, in the order of the file.
final class NamedFiles {
  enum Kind { case secret, program, store }

  private(set) var all: [(path: String, kind: Kind, location: TextLocation)] = []

  func add(_ path: String, _ kind: Kind, at location: TextLocation) { all.append((path, kind, location)) }

  var paths: [String] { Array(Set(all.map(\.path))) }
}

private func octal(_ mode: UInt32) -> String {
  let digits = String(mode & 0o7777, radix: 8)
  return String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
}
