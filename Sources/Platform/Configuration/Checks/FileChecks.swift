internal import Primitives

/// Who else could change or read the files that everything depends on.
///
/// A secret and a stored login are of one credential, and a bad one costs that credential alone: a warning here, and the daemon,
/// which looks again each time, does not use it. What decides for others, the configuration and certificates, is an error, and
/// so is a program: a user who could exchange one sees whatever the daemon may see.
extension SettingsReader {
  private static let othersAndGroupWrite: UInt32 = 0o022
  private static let othersAny: UInt32 = 0o007
  private static let groupRead: UInt32 = 0o040
  private static let anyExecute: UInt32 = 0o111

  /// The writer of the configuration decides where the credentials go (T51).
  /// - Parameter place: the file as a whole.
  func checkConfigurationFile(_ file: String, at place: TextLocation) {
    guard let status = environment.files.status(file) else { return }
    let security = environment.files.security(file)
    if status.mode & Self.othersAndGroupWrite != 0, !security.isReadOnly {
      report.error(
        place,
        "others can write this file (mode \(octal(status.mode))), and could send your credentials to another server",
        help: "chmod go-w \(ShellWord.quoted(file))")
    }
    if !isTrusted(status.owner), !security.isReadOnly {
      report.error(
        place,
        "this file belongs to uid \(status.owner), who could change it and send your credentials to another server",
        help: "chown root \(ShellWord.quoted(file))")
    }
    if let problem = security.problem { report.error(place, problem.message, help: problem.help) }
    reportException(security, place)
  }

  private func reportException(_ security: PathSecurity, _ place: TextLocation) {
    guard let pardon = security.pardon else { return }
    report.advice(place, "\(pardon). bearerd accepts this, because the mount is read-only")
  }

  /// The files of credentials, once all of them are known. One that does not answer is asked again before its secret is used.
  func checkNamedFiles() {
    let answering = environment.files.answering(named.paths)
    for (path, kind, place) in named.all {
      guard answering.contains(path) else {
        report.warning(
          place, "\(path) does not respond: until it does, requests with this credential get 503",
          help: "check whether the file server of this path is reachable")
        continue
      }
      switch kind {
      case .secret: checkSecretFile(path, at: place)
      case .program: checkProgram(path, at: place)
      case .store: checkStore(path, at: place)
      }
    }
  }

  /// A missing file: the daemon starts, answers 503 and notices when it appears.
  private func checkSecretFile(_ path: String, at place: TextLocation) {
    guard let status = environment.files.status(path) else {
      report.warning(
        place, "\(path) not found: requests with this credential get 503",
        help:
          "create the file with: install -m 0600 /dev/null \(ShellWord.quoted(path)). Then put the secret into it"
      )
      return checkPathSecurity(of: path, at: place)
    }
    guard status.isRegular else { return refuse("\(path) is not a regular file", at: place) }
    let security = environment.files.security(path)
    let forbidden = security.isMountOfSecrets ? Self.othersAndGroupWrite : Self.othersAny | Self.othersAndGroupWrite
    if status.mode & forbidden != 0 {
      refuse(
        "others can \(status.mode & Self.othersAny != 0 ? "read or change" : "change") \(path) (mode \(octal(status.mode)))",
        at: place, help: "chmod o-rwx,g-w \(ShellWord.quoted(path))" + security.containerHelp)
    } else if status.mode & Self.othersAny != 0, security.isReadOnly || isTrusted(status.owner) {
      let mount = security.isReadOnly ? "a read-only mount" : "a container's in-memory file system"
      report.warning(
        place,
        "others can read \(path) (mode \(octal(status.mode))). bearerd still uses the file, because it is on \(mount)",
        help: "let only the daemon read it" + security.containerHelp)
    }
    if !isTrusted(status.owner), !security.isReadOnly {
      refuse(
        "\(path) belongs to uid \(status.owner), who can change it", at: place,
        help: "chown root \(ShellWord.quoted(path))" + security.containerHelp)
    } else if status.owner != Self.root, status.mode & Self.groupRead != 0, !security.isMountOfSecrets {
      // The group of a file of root's is the daemon's own; that of any other is unknown.
      refuse(
        "the group can read \(path) (mode \(octal(status.mode)))", at: place,
        help: "chmod g-r \(ShellWord.quoted(path))")
    }
    if environment.uid != Self.root, status.owner == Self.root, status.mode & 0o044 == 0 {
      let file = ShellWord.quoted(path)
      refuse(
        "only root can read \(path) (mode \(octal(status.mode)))", at: place,
        help: environment.uid < 1000
          ? "chgrp bearerd \(file) && chmod 0640 \(file)" : "chown \(environment.uid) \(file)")
    }
    if security.isEmpty { refuse("\(path) is empty", at: place, help: "put the secret into it") }
    checkPathSecurity(of: path, at: place)
  }

  /// A file that is not there yet is as it should be; a user who can write its directory could put another login there.
  private func checkStore(_ path: String, at place: TextLocation) {
    guard environment.files.status(path) == nil else { return checkSecretFile(path, at: place) }
    checkPathSecurity(of: path, at: place)
  }

  /// The owner of a program, and anybody who can exchange it, decides which secret is sent, and sees what we may see (T42).
  private func checkProgram(_ path: String, at place: TextLocation) {
    guard let status = environment.files.status(path) else {
      return report.error(place, "program \(path) not found")
    }
    guard status.isRegular else { return report.error(place, "\(path) is not a regular file") }
    if status.mode & Self.anyExecute == 0 {
      report.error(
        place, "\(path) is not executable (mode \(octal(status.mode)))", help: "chmod +x \(ShellWord.quoted(path))")
    }
    checkOnlyOurs(path, status.owner, status.mode, at: place)
  }

  private func checkPathSecurity(of path: String, at place: TextLocation) {
    let security = environment.files.security(path)
    if let problem = security.problem { refuse(problem.message, at: place, help: problem.help) }
    reportException(security, place)
  }

  /// Refuses a file of a credential.
  private func refuse(_ message: String, at place: TextLocation, help: String? = nil) {
    report.warning(place, "\(message): bearerd does not use it, and requests with this credential get 503", help: help)
  }

  func checkCertificates(_ path: String, at place: TextLocation) {
    guard let status = environment.files.status(path), let text = environment.files.content(path) else {
      return report.error(place, "\(path) does not exist, or cannot be read")
    }
    guard status.isRegular else { return report.error(place, "\(path) is not a regular file") }
    checkOnlyOurs(path, status.owner, status.mode, at: place)
    if !contains(text, Array("-----BEGIN CERTIFICATE-----".utf8)) {
      report.error(place, "no certificate in \(path)", help: "expected a PEM file with -----BEGIN CERTIFICATE-----")
    }
  }

  /// Only root and the daemon's user can change it, or put another file in its place.
  private func checkOnlyOurs(_ path: String, _ owner: UInt32, _ mode: UInt32, at place: TextLocation) {
    let security = environment.files.security(path)
    if mode & Self.othersAndGroupWrite != 0, !security.isReadOnly {
      report.error(
        place, "others can change \(path) (mode \(octal(mode)))", help: "chmod go-w \(ShellWord.quoted(path))")
    }
    if !isTrusted(owner), !security.isReadOnly {
      report.error(
        place, "\(path) belongs to uid \(owner), who can change it", help: "chown root \(ShellWord.quoted(path))")
    }
    if let problem = security.problem { report.error(place, problem.message, help: problem.help) }
    reportException(security, place)
  }

  private func contains(_ text: [UInt8], _ wanted: [UInt8]) -> Bool {
    guard let first = wanted.first, text.count >= wanted.count else { return false }
    return text.indices.contains { text[$0] == first && text[$0...].starts(with: wanted) }
  }

  private func isTrusted(_ owner: UInt32) -> Bool { owner == Self.root || owner == environment.uid }
}

/// Files that secrets come from, in the order of the configuration.
final class NamedFiles {
  enum Kind { case secret, program, store }

  private(set) var all: [(path: String, kind: Kind, place: TextLocation)] = []

  func add(_ path: String, _ kind: Kind, at place: TextLocation) { all.append((path, kind, place)) }

  /// Each once.
  var paths: [String] { Array(Set(all.map(\.path))) }
}

private func octal(_ mode: UInt32) -> String {
  let digits = String(mode & 0o7777, radix: 8)
  return String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
}
