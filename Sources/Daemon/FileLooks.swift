internal import Configuration
internal import Synchronization
internal import System

/// Asks whose the files of secrets are, and the programs that print them, without waiting for a file system that does not
/// answer (T55). One per process, since a thread that hangs cannot be ended: no file has more than one.
package final class FileLooks: Sendable {
  private let underWay = Mutex<Set<String>>([])

  /// Milliseconds for all files of a configuration together.
  private static let patience = 500

  /// - Parameter silent: files that have just been asked for and did not answer: they are not asked again.
  package init(silent: Set<String> = []) { underWay.withLock { $0 = silent } }

  /// What was found within one reading of the configuration.
  final class Answers: Sendable {
    typealias Status = (owner: UInt32, mode: UInt32, isRegular: Bool)

    private let known = Mutex<[String: Status?]>([:])
    private let silent = Mutex<Set<String>>([])

    func status(of path: String) -> Status? {
      if let known = known.withLock({ $0[path] }) { return known }
      let status = FileStatus(path: path).map { ($0.owner, $0.mode, $0.isRegular) }
      known.withLock { $0[path] = .some(status) }
      return status
    }

    /// The file, and every directory that leads to it.
    fileprivate func look(at path: String) {
      var rest = path[...]
      _ = status(of: path)
      while let slash = rest.lastIndex(of: "/") {
        rest = rest[..<slash]
        _ = status(of: rest.isEmpty ? "/" : String(rest))
      }
    }

    /// Files that did not answer.
    var unanswered: Set<String> { silent.withLock { $0 } }

    fileprivate func add(unanswered paths: some Sequence<String>) { silent.withLock { $0.formUnion(paths) } }
  }

  /// Those that answer, and so do the directories that lead to them. One that has not answered yet when it was asked before is
  /// not asked again.
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
