package import Configuration
internal import Settings
internal import System

/// Functions for `bearerctl`.
extension ConfigurationLoader {
  /// Returns the files and programs of a valid configuration that do not respond.
  /// - Parameter onStep: called with the name of each file, user or group before it is read.
  package static func findUnresponsiveFiles(
    _ file: String, as user: UInt32?, text: [UInt8]? = nil, onStep: @escaping @Sendable (String) -> Void
  ) -> Set<String> {
    // Loading an invalid configuration ends as well.
    (try? load(file, as: user, text: text, probe: FileProbe(), step: LoadingStep(onBegin: onStep)))?
      .unresponsiveFiles
      ?? []
  }

  /// Returns the path of the control socket in a configuration file, or `nil` if the file does not set it.
  package static func controlSocket(of file: String) throws(ConfigurationErrors) -> String? {
    let text: [UInt8]
    do throws(SystemError) {
      text = try FileReader.read(path: file, maximum: 1 << 20).bytes
    } catch {
      throw ConfigurationErrors(diagnostics: [.unreadable(file, error)])
    }
    // The contents of included files are unknown here, so the file is not checked completely.
    if ConfigurationReader.includesFiles(text: text) {
      return ConfigurationReader.controlSocket(text: text, file: file, environment: .unseen)
    }
    return try ConfigurationReader.read(text: text, file: file, environment: .unseen).get().0.controlSocket
  }
}

extension ConfigurationReader.Environment {
  /// An environment that accesses no file system, and claims that all files exist and are safe.
  fileprivate static var unseen: Self {
    let uid = Users.currentUID
    return Self(
      uid: uid, now: 0, userID: { _ in uid }, groupMembers: { _ in [uid] },
      files: FileQueries(
        status: { _ in (uid, 0o700, true) }, content: { _ in Array("-----BEGIN CERTIFICATE-----\n".utf8) }),
      auditProblem: { _ in nil }, hasIPv6: true,
      stateDirectory: "/")
  }
}
