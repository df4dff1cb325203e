internal import Configuration
internal import System

/// For those who ask about a daemon, and have to come to an end whatever a file system does.
extension ConfigurationLoader {
  /// Reads and checks as `load` does, for nothing but what it waits for.
  /// - Returns: files of secrets that did not answer.
  package static func rehearse(
    _ file: String, as user: UInt32?, text: [UInt8]? = nil, onStep: @escaping @Sendable (String) -> Void
  ) -> Set<String> {
    // One that is refused does not wait for ever either.
    (try? load(file, as: user, text: text, probe: FileProbe(), step: Preparation.Step(onBegin: onStep)))?.unanswered
      ?? []
  }

  /// The control socket's path that the file says; nil: it does not say. Only the file itself is looked at: who wants to
  /// know how the daemon fares wants to know it all the more when a file server has gone.
  package static func controlSocket(of file: String) throws(LoadError) -> String? {
    let text: [UInt8]
    do throws(SystemError) {
      text = try FileReader.read(path: file, maximum: 1 << 20).bytes
    } catch {
      throw LoadError(diagnostics: [.unreadable(file, error)])
    }
    // Of what stands in other files nothing is known here.
    if ConfigurationReader.includesFiles(text: text) {
      return ConfigurationReader.controlSocket(text: text, file: file, environment: .unseen)
    }
    switch ConfigurationReader.read(text: text, file: file, environment: .unseen) {
    case .success(let (settings, _)): return settings.controlSocket
    case .failure(let errors): throw LoadError(diagnostics: errors.diagnostics, controlSocket: errors.controlSocket)
    }
  }
}

extension ConfigurationReader.Environment {
  /// A machine on which everything is there, and as it should be.
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
