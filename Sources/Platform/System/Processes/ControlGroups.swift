internal import CLinux
internal import Glibc

/// The control groups of this machine (cgroups(7), version 2). The number of a group is the inode of its directory.
package struct ControlGroups {
  private let root: String

  package init?() {
    // The second path is for machines with both versions.
    let mounts = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]
    guard let root = mounts.first(where: ControlGroups.isMounted) else { return nil }
    self.root = root
  }

  /// Returns the path of a control group, such as `/system.slice/ssh.service`. `nil` if it was not found.
  package func path(of number: UInt64) -> String? {
    // The kernel has no unprivileged lookup. Groups of the system are near the root, so a breadth-first search finds
    // them first.
    var waiting = [""]
    var (next, opened) = (0, 0)
    while next < waiting.count, opened < ControlGroups.openedLimit {
      let group = waiting[next]
      next += 1
      guard hasGroups(group) else { continue }
      opened += 1
      guard let directory = opendir(root + group) else { continue }
      defer { closedir(directory) }
      while waiting.count < ControlGroups.knownLimit, let entry = readdir(directory) {
        guard entry.pointee.d_type == DT_DIR, let name = ControlGroups.name(of: entry) else { continue }
        let path = "\(group)/\(name)"
        if entry.pointee.d_ino == number { return path }
        waiting.append(path)
      }
    }
    return nil
  }

  /// The path of this process's control group. `nil` if there is none, or /proc cannot be read.
  package static var own: String? {
    // The line of version 2 has the number 0 and no controllers.
    let lines = FileReader.procText("/proc/self/cgroup")?.split(separator: "\n") ?? []
    return lines.first { $0.hasPrefix("0::") }.map { String($0.dropFirst("0::".count)) }
  }

  /// Maximum number of directories that a search opens, so that it takes at most a few milliseconds.
  private static let openedLimit = 128
  /// Maximum number of groups that a search finds.
  private static let knownLimit = 2_048

  private func hasGroups(_ group: String) -> Bool {
    // Each subdirectory adds one to the link count of its parent.
    var status = stat()
    return lstat(root + group, &status) == 0 && status.st_nlink > 2
  }

  private static func name(of entry: UnsafeMutablePointer<dirent>) -> String? {
    let name = withUnsafePointer(to: &entry.pointee.d_name) {
      String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
    }
    return name == "." || name == ".." ? nil : name
  }

  private static func isMounted(_ path: String) -> Bool {
    var status = statfs()
    return statfs(path, &status) == 0 && status.f_type == 0x6367_7270  // CGROUP2_SUPER_MAGIC of linux/magic.h
  }
}
