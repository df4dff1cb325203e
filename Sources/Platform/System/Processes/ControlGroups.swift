internal import CLinux
internal import Glibc

/// The control groups of this machine (cgroups(7), version 2), below the place where systemd mounts them. The number of one is
/// the inode of its directory, and names no other one later.
package struct ControlGroups {
  private let root: String

  /// nil: there are none.
  package init?() {
    // The second is that of a machine which has both versions.
    let mounts = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]
    guard let root = mounts.first(where: ControlGroups.isMounted) else { return nil }
    self.root = root
  }

  /// As in `/system.slice/ssh.service`; nil: it is not there, or too far down among too many.
  ///
  /// The kernel has no question for it that anybody may ask, so the tree is read, from its top down: what stands high up is
  /// what the system made, and many small groups of one user's cannot hide it. Directories with nothing below them, which is
  /// most of them, are not opened.
  package func path(of number: UInt64) -> String? {
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

  /// The group of this process; nil: there are no groups, or it may not be told.
  package static var own: String? {
    let descriptor = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 16_384)
    let count = retrying { read(descriptor, &bytes, bytes.count) }
    // Version 2 has the number 0 and no controllers in its line.
    let lines = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(separator: "\n")
    return lines.first { $0.hasPrefix("0::") }.map { String($0.dropFirst("0::".count)) }
  }

  /// A search reads so many directories and looks at so many, which takes some milliseconds at most.
  private static let openedLimit = 128
  private static let knownLimit = 2_048

  /// The kernel counts a directory's subdirectories as links.
  private func hasGroups(_ group: String) -> Bool {
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
