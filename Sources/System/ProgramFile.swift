internal import Glibc

/// Whether a program is one that nobody but root and we could have changed (T42).
package enum ProgramFile {
  /// nil: it may be run. Else why not, in one sentence. Every directory and symbolic link on the way is looked at: whoever can
  /// change one of them chooses what runs.
  package static func problem(of path: String) -> String? {
    do throws(Refused) {
      let end = try walk(path)
      guard end.isRegular else { return "\(path) is not a regular file" }
      return access(path, X_OK) == 0 ? nil : "\(path) may not be executed by uid \(Users.currentUID)"
    } catch {
      return error.sentence
    }
  }

  private struct Refused: Error {
    let sentence: String
    init(_ sentence: String) { self.sentence = sentence }
  }

  private static func walk(_ path: String) throws(Refused) -> FileStatus {
    guard path.hasPrefix("/"), !path.utf8.contains(0) else { throw Refused("\(path) is no absolute path") }
    var rest = Array(components(of: path).reversed())
    var place: [Substring] = []
    var status = try judged("/", of: path)
    var linksLeft = 40  // as the kernel
    while let component = rest.popLast() {
      if component == ".." {
        _ = place.popLast()
        continue
      }
      let next = "/" + (place + [component]).joined(separator: "/")
      status = try judged(next, of: path)
      guard let target = FileReader.linkTarget(next) else {
        place.append(component)
        continue
      }
      linksLeft -= 1
      guard linksLeft > 0 else { throw Refused("\(path): too many symbolic links") }
      rest += components(of: target).reversed()
      if target.hasPrefix("/") { place = [] }
    }
    return status
  }

  /// In a sticky directory others cannot exchange what is ours.
  private static func judged(_ step: String, of path: String) throws(Refused) -> FileStatus {
    var raw = stat()
    guard lstat(step, &raw) == 0 else {
      throw Refused(errno == EACCES ? "\(path) may not be seen by uid \(Users.currentUID)" : "\(path) does not exist")
    }
    let status = FileStatus(raw)
    guard status.owner == 0 || status.owner == Users.currentUID else {
      throw Refused("\(step) belongs to uid \(status.owner), who could change what is run: chown root \(step)")
    }
    let isLink = raw.st_mode & S_IFMT == S_IFLNK
    let isSticky = status.isDirectory && status.mode & 0o1000 != 0
    guard isLink || isSticky || status.mode & 0o022 == 0 else {
      throw Refused("\(step) can be written by others, who could change what is run: chmod go-w \(step)")
    }
    return status
  }

  private static func components(of path: String) -> [Substring] {
    path.split(separator: "/").filter { $0 != "." }
  }
}
