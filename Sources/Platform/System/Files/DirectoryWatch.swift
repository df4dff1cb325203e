internal import CLinux
internal import Glibc

/// Watches directories with inotify. Reports created, changed, moved and removed entries, and the loss of the directory
/// itself.
package final class DirectoryWatch {
  /// The inotify descriptor (non-blocking). Readable when `changes()` has changes to return.
  package let descriptor: Int32

  /// The registered paths of each watched directory, by watch descriptor.
  private var directories: [Int32: [String]] = [:]
  /// Events of directories that are not registered (yet), by watch descriptor.
  private var unregistered: [Int32: Missed] = [:]

  private enum Missed { case changed, gone }

  package struct Change: Sendable, Equatable {
    package let directory: String
    /// Name of the changed directory entry. Empty if the directory has disappeared, or if changes were lost.
    package let name: String
    /// Whether the entry was just created. A new file may still be incomplete, and causes a second change when it is
    /// closed.
    package let isNew: Bool

    package init(directory: String, name: String, isNew: Bool = false) {
      self.directory = directory
      self.name = name
      self.isNew = isNew
    }
  }

  /// Starts watching directories (T55). Can be used on any thread.
  package struct Adder: Sendable {
    fileprivate let descriptor: Int32

    /// Returns the watch descriptor for `register`.
    package func add(_ directory: String) -> Result<Int32, SystemError> {
      let watch = inotify_add_watch(descriptor, directory, mask | UInt32(IN_ONLYDIR))
      return watch >= 0 ? .success(watch) : .failure(SystemError(operation: "inotify_add_watch", errno: errno))
    }
  }

  package init() throws(SystemError) {
    descriptor = try check(inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC)), "inotify_init1")
  }

  deinit { close(descriptor) }

  package var adder: Adder { Adder(descriptor: descriptor) }

  /// Makes `changes()` report the changes of `directory`, with the `watch` that `Adder.add` returned.
  /// - Returns: `false` if changes since `add` may be lost. If so, add and register it again, and read all its entries.
  package func register(_ directory: String, as watch: Int32) -> Bool {
    var hadOtherWatch = false
    for (other, names) in directories where other != watch && names.contains(directory) {
      remove(directory, from: other)
      hadOtherWatch = true
    }
    let missed = unregistered.removeValue(forKey: watch)
    if missed == .gone { return false }
    if directories[watch]?.contains(directory) != true { directories[watch, default: []].append(directory) }
    return missed == nil && !hadOtherWatch
  }

  package func keep(only wanted: Set<String>) {
    for (watch, names) in directories {
      for name in names where !wanted.contains(name) { remove(name, from: watch) }
    }
  }

  /// Discards the events of directories that are not registered. Call this only when every added directory is
  /// registered.
  package func discardUnregistered() { unregistered = [:] }

  private func remove(_ directory: String, from watch: Int32) {
    directories[watch]?.removeAll { $0 == directory }
    guard directories[watch]?.isEmpty == true else { return }
    directories[watch] = nil
    inotify_rm_watch(descriptor, watch)
    unregistered[watch] = .gone
  }

  /// Returns the changes since the last call.
  package func changes() -> [Change] {
    var found: [Change] = []
    // On the stack, because this runs during requests. Room for three events with names of maximum length.
    withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 8) { buffer in
      for _ in 0..<1024 {  // unread events keep the descriptor readable
        let count = retrying { read(descriptor, buffer.baseAddress, buffer.count) }
        guard count > 0 else { return }
        appendEvents(UnsafeRawBufferPointer(rebasing: buffer[..<count]), to: &found)
      }
    }
    return found
  }

  private func appendEvents(_ bytes: UnsafeRawBufferPointer, to found: inout [Change]) {
    let headerSize = MemoryLayout<inotify_event>.size
    var offset = 0
    while bytes.count - offset >= headerSize {
      let event = bytes.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
      let end = offset + headerSize + Int(event.len)
      guard end <= bytes.count else { return }
      let name = bytes[(offset + headerSize)..<end].prefix { $0 != 0 }
      record(event, String(decoding: name, as: UTF8.self), in: &found)
      offset = end
    }
  }

  private func record(_ event: inotify_event, _ name: String, in found: inout [Change]) {
    if event.mask & UInt32(IN_Q_OVERFLOW) != 0 {
      for directory in directories.values.joined() { found.append(Change(directory: directory, name: "")) }
      return
    }
    let isGone = event.mask & UInt32(IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT) != 0
    guard let names = directories[event.wd] else {
      if isGone || unregistered[event.wd] == nil { unregistered[event.wd] = isGone ? .gone : .changed }
      return
    }
    if isGone {
      directories[event.wd] = nil
      unregistered[event.wd] = .gone
      inotify_rm_watch(descriptor, event.wd)  // otherwise a moved directory is still watched, under its old name
    }
    let isNew = event.mask & UInt32(IN_CREATE) != 0
    for directory in names {
      found.append(Change(directory: directory, name: isGone ? "" : name, isNew: isNew && !isGone))
    }
  }

  /// Whether a path is a symbolic link, or a file with several hard links. `true` if it cannot be inspected, `false` if
  /// it does not exist.
  package static func isLink(_ path: String) -> Bool {
    var status = stat()
    guard lstat(path, &status) == 0 else { return errno != ENOENT }
    let kind = status.st_mode & S_IFMT
    return kind == S_IFLNK || (kind == S_IFREG && status.st_nlink > 1)
  }
}

private let mask = UInt32(
  IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB | IN_CREATE | IN_DELETE_SELF | IN_MOVE_SELF)
