package import System

/// The content of a secret's file when it was read. Reading takes as long as the file system takes, so it is done on any thread
/// (T55); what was found is handed over whole, in locked pages of its own, which are wiped with it.
///
/// Unchecked: nothing in it changes after `init` but those pages, which `FileValues.take` wipes once it has copied them.
package final class SecretFileSnapshot: @unchecked Sendable {
  package let source: SecretSource
  /// The directories whose changes can change it, and the watch on each.
  package let watches: [(directory: String, watch: Result<Int32, SystemError>)]
  /// The bytes of the file, or why it is of no use.
  @_spi(SecretBytes) public let content: Result<SecretFile.Content, SecretProblem>
  let names: Set<WatchedName>

  /// - Parameters:
  ///   - adder: what watches its directories, ahead of reading: a change between the two is noticed.
  ///   - mustLock: fails rather than that the pages may be swapped out.
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
      content = Self.content(of: file, mustLock: mustLock)
    } catch {
      (names, watches, content) = ([], [], .failure(error))
    }
  }

  private static func content(of file: SecretFile, mustLock: Bool) -> Result<SecretFile.Content, SecretProblem> {
    do throws(SecretProblem) { return .success(try file.read(mustLock: mustLock)) } catch { return .failure(error) }
  }

  /// Whether its failure may pass by itself: it should be read again, even if nothing changes.
  package var isPassing: Bool {
    if case .failure(let problem) = content, problem.isPassing { return true }
    return watches.contains { _, watch in
      if case .failure(let error) = watch { error.isPassing } else { false }
    }
  }
}

extension SecretFile {
  fileprivate init(_ source: SecretSource) throws(SecretProblem) {
    switch source {
    case .file(let path): self.init(path: path, unitCredential: nil)
    case .systemd(let name): self = try .ofUnit(name)
    case .env, .command, .userOfCommand, .token: throw SecretProblem("\(source.name) is not a file")
    }
  }
}
