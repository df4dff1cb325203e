internal import CLinux
internal import Glibc

/// inotify on directories: a file has been written and closed, moved in or out, removed, or its mode has changed; a
/// symbolic link has been made; the directory itself has gone. So renames and `..data` symlink swaps are seen, and
/// half-written files are not.
package final class DirectoryWatch {
  /// Non-blocking; readable when there are `changes()`.
  package let descriptor: Int32

  /// By watch descriptor, each under every name that it was added by.
  private var directories: [Int32: [String]] = [:]

  package init() throws(SystemError) {
    descriptor = try check(inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC)), "inotify_init1")
  }

  deinit { close(descriptor) }

  /// Watching a directory twice is one watch. A directory that has gone and come back must be added again.
  package func add(directory: String) throws(SystemError) {
    let watch = try check(inotify_add_watch(descriptor, directory, mask | UInt32(IN_ONLYDIR)), "inotify_add_watch")
    if directories[watch]?.contains(directory) != true { directories[watch, default: []].append(directory) }
  }

  /// Watches these and no others; what is watched already loses no change in between. Returns which are watched from now
  /// on only, and why others cannot be.
  package func watch(
    only wanted: [String]
  ) -> (added: [String], failures: [(directory: String, error: SystemError)]) {
    let before = directories
    directories = [:]
    var failures: [(directory: String, error: SystemError)] = []
    for directory in wanted {
      do throws(SystemError) { try add(directory: directory) } catch { failures.append((directory, error)) }
    }
    for watch in before.keys where directories[watch] == nil { inotify_rm_watch(descriptor, watch) }
    let added = directories.flatMap { watch, names in names.filter { before[watch]?.contains($0) != true } }
    return (added, failures)
  }

  package func removeAll() {
    for watch in directories.keys { inotify_rm_watch(descriptor, watch) }
    directories = [:]
  }

  /// Directories in which something changed since the last call, and the names that did. An empty name means the directory
  /// itself: it has gone, or so much changed at once that the kernel did not keep the names.
  package func changes() -> [(directory: String, name: String)] {
    var found: [(directory: String, name: String)] = []
    withUnsafeTemporaryAllocation(byteCount: 16 * 1024, alignment: 8) { buffer in
      for _ in 0..<64 {  // what is left makes the descriptor readable again
        let count = retrying { read(descriptor, buffer.baseAddress, buffer.count) }
        guard count > 0 else { return }
        appendEvents(UnsafeRawBufferPointer(rebasing: buffer[..<count]), to: &found)
      }
    }
    return found
  }

  private func appendEvents(_ bytes: UnsafeRawBufferPointer, to found: inout [(directory: String, name: String)]) {
    let headerSize = MemoryLayout<inotify_event>.size
    var offset = 0
    while bytes.count - offset >= headerSize {
      let event = bytes.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
      let end = offset + headerSize + Int(event.len)
      guard end <= bytes.count else { return }
      let name = bytes[(offset + headerSize)..<end].prefix { $0 != 0 }
      note(event, String(decoding: name, as: UTF8.self), in: &found)
      offset = end
    }
  }

  private func note(_ event: inotify_event, _ name: String, in found: inout [(directory: String, name: String)]) {
    if event.mask & UInt32(IN_Q_OVERFLOW) != 0 {
      for directory in directories.values.joined() { found.append((directory, "")) }
      return
    }
    guard let names = directories[event.wd] else { return }
    let isGone = event.mask & UInt32(IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT) != 0
    if isGone {
      directories[event.wd] = nil
      inotify_rm_watch(descriptor, event.wd)  // a directory that moved away is watched on, under a wrong name
    }
    for directory in names where isGone || event.mask & UInt32(IN_CREATE) == 0 || isLink("\(directory)/\(name)") {
      found.append((directory, isGone ? "" : name))
    }
  }

  /// A new link, symbolic or hard, is whole at once; a new file is not, and is heard of when it is closed.
  private func isLink(_ path: String) -> Bool {
    var status = stat()
    guard lstat(path, &status) == 0 else { return false }
    let kind = status.st_mode & S_IFMT
    return kind == S_IFLNK || (kind == S_IFREG && status.st_nlink > 1)
  }
}

private let mask = UInt32(
  IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB | IN_CREATE | IN_DELETE_SELF | IN_MOVE_SELF)
