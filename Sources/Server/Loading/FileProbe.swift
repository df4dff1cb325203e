internal import Configuration
internal import Synchronization
internal import System

/// Checks owners and permissions of secret files and helper programs. `findResponsive` checks on other threads, and
/// returns after a timeout even if a file system does not respond (T55). Use one probe per process.
package final class FileProbe: Sendable {
  private let inProgress = Mutex<Set<String>>([])

  /// Maximum milliseconds for the checks of all files of a configuration together.
  private static let timeout = 500

  /// - Parameter unresponsive: files that did not respond to an earlier probe. They are not checked again.
  package init(unresponsive: Set<String> = []) { inProgress.withLock { $0 = unresponsive } }

  /// The owners and permissions found for one configuration.
  final class Results: Sendable {
    typealias Status = (owner: UInt32, mode: UInt32, isRegular: Bool)

    fileprivate struct Inspection: Sendable {
      let status: FileStatus?
      let security: PathSecurity
    }

    private let user: UInt32
    private let known = Mutex<[String: Inspection]>([:])
    private let unresponsive = Mutex<Set<String>>([])

    init(as user: UInt32) { self.user = user }

    func status(of path: String) -> Status? {
      inspect(path).status.map { ($0.owner, $0.mode, $0.isRegular) }
    }

    func security(of path: String) -> PathSecurity { inspect(path).security }

    /// Stores the result of `walk`.
    func note(_ walk: FileWalk) { _ = add(walk) }

    @discardableResult
    fileprivate func inspect(_ path: String) -> Inspection {
      known.withLock { $0[path] } ?? add(FileWalk(path, as: user))
    }

    private func add(_ walk: FileWalk) -> Inspection {
      let inspection = Inspection(status: walk.status, security: PathSecurity(walk))
      known.withLock { $0[walk.path] = inspection }
      return inspection
    }

    var unresponsiveFiles: Set<String> { unresponsive.withLock { $0 } }

    fileprivate func add(unresponsive paths: some Sequence<String>) {
      unresponsive.withLock { $0.formUnion(paths) }
    }
  }

  /// Checks each path and its parent directories, and stores the results. Returns the paths that respond in time.
  func findResponsive(_ paths: [String], into results: Results) -> Set<String> {
    let idle = inProgress.withLock { inProgress in paths.filter { !inProgress.contains($0) } }
    let ended = BoundedWork.run(idle, milliseconds: Self.timeout) { [self] path in
      inProgress.withLock { _ = $0.insert(path) }
      results.inspect(path)
      inProgress.withLock { _ = $0.remove(path) }
      return true
    }
    let responsive = Set(ended.keys)
    results.add(unresponsive: paths.lazy.filter { !responsive.contains($0) })
    return responsive
  }
}

extension PathSecurity {
  fileprivate init(_ walk: FileWalk) {
    self.init()
    problem = walk.problem.map { ($0.message, $0.help) }
    toleratedProblem = walk.toleratedProblem?.message
    let mount = walk.mount
    isReadOnly = mount.isReadOnly
    isMountOfSecrets = mount.isSecretMount
    containerHelp = MountedSecret.help(mount)
    isEmpty = walk.status?.size == 0
  }
}
