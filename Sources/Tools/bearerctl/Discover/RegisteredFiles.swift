internal import Console
internal import Glibc
internal import OAuth
internal import System

/// Stores the secrets of a registered client in new files.
final class RegisteredFiles {
  private let home: ConfigurationHome
  private let name: String
  private var lock: Int32?
  private var directories: [String] = []

  /// Locks the directory of the configuration, and checks that the files can be written. Throws `Failure` if not.
  init(_ home: ConfigurationHome, name: String) throws {
    self.home = home
    self.name = name
    try home.demandSafety()
    do throws(SystemError) {
      directories += try NewFile.createDirectory(home.directory, mode: 0o755)
      lock = try DirectoryLock.acquire(home.directory) {
        Terminal.printError("waiting until another \"bearerctl\" command has finished\n")
      }
      directories += try NewFile.createDirectory(home.secrets, mode: home.secretsMode, group: home.secretGroup)
      // The server gives the secrets only once.
      let trial = "\(home.secrets)/.\(name).\(getpid()).trial"
      try NewFile.create(trial, "", mode: 0o600, group: home.secretGroup)
      try NewFile.remove(trial)
    } catch {
      removeEmptyDirectories()
      throw Failure(Failure.no, "\(home.secrets) cannot be used for secrets: \(error). Nothing was registered")
    }
    for secret in RegisteredClient.SecretName.allCases where FileStatus(path: path(of: secret)) != nil {
      throw Failure(
        Failure.no,
        "\(path(of: secret)) already exists. Choose another --name, or move the file. Nothing was registered")
    }
  }

  deinit { if let lock { close(lock) } }

  func path(of secret: RegisteredClient.SecretName) -> String {
    switch secret {
    case .client: "\(home.secrets)/\(name).client"
    case .registrationToken: "\(home.secrets)/\(name).registration"
    }
  }

  func store(_ client: borrowing RegisteredClient) throws(SystemError) {
    try client.store(.client, at: path(of: .client), mode: home.secretMode, group: home.secretGroup)
    // The daemon does not need this token.
    try client.store(.registrationToken, at: path(of: .registrationToken), mode: 0o600, group: nil)
  }

  /// Stores the whole response in the first directory that can be written, and returns a sentence that says where.
  func keep(_ receiver: TokenResponseReceiver) -> String {
    let file = "\(name).registration-response.\(Clock.now.seconds)"
    let directories = [home.secrets, home.directory, ProcessEnvironment.value("HOME"), "/tmp"].compactMap(\.self)
    for path in directories.map({ "\($0)/\(file)" }) {
      do throws(SystemError) {
        try receiver.storeBody(at: path)
        return "The whole response, with its secrets, is in \(path). Move the secrets from there to files of their own"
      } catch { continue }
    }
    return
      "The response cannot be stored in \(directories.joined(separator: ", ")) either. Delete the client at the server"
  }

  /// Removes the directories that this command created, unless they have files.
  func removeEmptyDirectories() {
    for directory in directories.reversed() { NewFile.removeDirectory(directory) }
  }
}
