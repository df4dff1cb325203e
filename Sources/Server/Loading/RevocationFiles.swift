internal import Configuration
internal import Synchronization
internal import System
internal import TLS

/// The files with revocation lists that were read. Each file is read once.
final class RevocationFiles: Sendable {
  private let user: UInt32
  private let all = Mutex<[String: Result<RevocationLists, FileProblem>]>([:])

  /// - Parameter user: The user that the daemon runs as.
  init(user: UInt32) { self.user = user }

  /// Reads the lists of a file. The error's message contains the path.
  func lists(in path: String) -> Result<RevocationLists, FileProblem> {
    if let known = all.withLock({ $0[path] }) { return known }
    let result = read(path)
    all.withLock { $0[path] = result }
    return result
  }

  /// Describes the lists of a file for the reader of the configuration.
  func inspect(_ path: String) -> RevocationListsStatus {
    switch lists(in: path) {
    case .success(let lists): .good(lists.descriptions.map { ($0.issuer, $0.nextUpdate) })
    case .failure(let problem): .bad(problem.message)
    }
  }

  private func read(_ path: String) -> Result<RevocationLists, FileProblem> {
    let bytes: [UInt8]
    do throws(SystemError) {
      let walk = try FileWalk(path, as: user).validated()
      bytes = try FileReader.read(walk, maximum: RevocationLists.maximumBytes).bytes
    } catch {
      let isTooLong = error.isTooLarge
      let problem =
        isTooLong
        ? "is too large: expected revocation lists of at most \(RevocationLists.maximumBytes >> 20) MiB"
        : "cannot be read: \(error)"
      return .failure(FileProblem("\(path) \(problem)"))
    }
    do throws(TLSError) {
      return .success(try RevocationLists(bytes, name: path))
    } catch {
      return .failure(FileProblem(error.detail))
    }
  }
}
