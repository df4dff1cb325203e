package import Settings
package import System

/// The content of a secret file when it was read. Reading may block, so it can run on any thread (T55).
///
/// `@unchecked`: immutable after `init`, except that `FileValues.store` wipes the pages after copying them.
package final class SecretFileSnapshot: @unchecked Sendable {
  package let source: SecretSource
  /// The directories whose changes can affect the file, and the inotify watch on each.
  package let watches: [(directory: String, watch: Result<Int32, SystemError>)]
  /// The content, or why it is unusable.
  @_spi(SecretBytes) public let content: Result<SecretFile.Content, SecretProblem>
  let names: Set<WatchedName>

  /// Reads the file now.
  /// - Parameters:
  ///   - adder: adds inotify watches before the read; `nil` to add none.
  ///   - mustLock: fail if the pages cannot be locked.
  package init(
    of source: SecretSource, watchedBy adder: DirectoryWatch.Adder? = nil, mustLock: Bool
  ) {
    self.source = source
    do throws(SecretProblem) {
      let file = try SecretFile(source)
      names = watchedNames(of: file.path)
      watches = Set(names.map(\.directory)).sorted().map { directory in
        (directory, adder?.add(directory) ?? .failure(SystemError(operation: "inotify_init1", errno: 0)))
      }
      content = Result { () throws(SecretProblem) in try file.read(mustLock: mustLock) }
    } catch {
      (names, watches, content) = ([], [], .failure(error))
    }
  }

  /// Whether reading or watching the file failed for a reason that may be temporary. Then read it again.
  package var isTransient: Bool {
    if case .failure(let problem) = content, problem.isTransient { return true }
    return watches.contains { _, watch in
      if case .failure(let error) = watch { error.isTransient } else { false }
    }
  }
}

extension SecretFile {
  fileprivate init(_ source: SecretSource) throws(SecretProblem) {
    switch source {
    case .file(let path): self.init(path: path, unitCredential: nil)
    case .systemd(let name): self = try .forSystemdCredential(name)
    case .env, .command, .userOfCommand, .token: throw SecretProblem("\(source.name) is not a file")
    }
  }
}
