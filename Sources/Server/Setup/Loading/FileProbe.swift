internal import Configuration
internal import Synchronization
internal import System

/// Asks whose the files of secrets are, and the programs that print them, without waiting for a file system that does not
/// answer (T55). One per process, since a thread that hangs cannot be ended: no file has more than one.
package final class FileProbe: Sendable {
  private let underWay = Mutex<Set<String>>([])

  /// Milliseconds for all files of a configuration together.
  private static let patience = 500

  /// - Parameter silent: files that have just been asked for and did not answer: they are not asked again.
  package init(silent: Set<String> = []) { underWay.withLock { $0 = silent } }

  /// The findings of one reading of the configuration.
  final class Answers: Sendable {
    typealias Status = (owner: UInt32, mode: UInt32, isRegular: Bool)

    fileprivate struct Look: Sendable {
      let status: FileStatus?
      let security: PathSecurity
    }

    private let user: UInt32
    private let known = Mutex<[String: Look]>([:])
    private let silent = Mutex<Set<String>>([])

    /// - Parameter user: whom the daemon runs as.
    init(as user: UInt32) { self.user = user }

    func status(of path: String) -> Status? {
      look(at: path).status.map { ($0.owner, $0.mode, $0.isRegular) }
    }

    func security(of path: String) -> PathSecurity { look(at: path).security }

    /// Notes a walk that is judged, so that no path is walked a second time.
    func note(_ walk: FileWalk) { _ = add(walk) }

    @discardableResult
    fileprivate func look(at path: String) -> Look {
      known.withLock { $0[path] } ?? add(FileWalk(path, as: user))
    }

    private func add(_ walk: FileWalk) -> Look {
      let look = Look(status: walk.status, security: PathSecurity(walk))
      known.withLock { $0[walk.path] = look }
      return look
    }

    /// Files that did not answer.
    var unanswered: Set<String> { silent.withLock { $0 } }

    fileprivate func add(unanswered paths: some Sequence<String>) { silent.withLock { $0.formUnion(paths) } }
  }

  /// The paths that answer, and so do the directories that lead to them. One that has not answered yet when it was asked before
  /// is not asked again.
  func answering(_ paths: [String], into answers: Answers) -> Set<String> {
    let asked = underWay.withLock { underWay in paths.filter { !underWay.contains($0) } }
    let ended = BoundedWork.run(asked, milliseconds: Self.patience) { [self] path in
      underWay.withLock { _ = $0.insert(path) }
      answers.look(at: path)
      underWay.withLock { _ = $0.remove(path) }
      return true
    }
    let answering = Set(ended.keys)
    answers.add(unanswered: paths.lazy.filter { !answering.contains($0) })
    return answering
  }
}

extension PathSecurity {
  fileprivate init(_ walk: FileWalk) {
    self.init()
    problem = walk.problem.map { ($0.message, $0.help) }
    pardon = walk.pardoned?.message
    isReadOnly = walk.isReadOnly
    isMountOfSecrets = walk.mount.isOfSecrets
    containerHelp = MountedSecret.help(walk.mount)
    isEmpty = walk.status?.size == 0
  }
}
