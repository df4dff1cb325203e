internal import CLinux
internal import Glibc

/// inotify on directories: a file has been written and closed, moved in or out, removed, or its mode has changed; something
/// has been made; the directory itself has gone. So renames and `..data` symlink swaps are seen, and half-written files
/// are not.
package final class DirectoryWatch {
  /// Non-blocking; readable when there are `changes()`.
  package let descriptor: Int32

  /// By watch descriptor, each under every name that it was added by.
  private var directories: [Int32: [String]] = [:]
  /// Events of watches that are not among them, or not yet.
  private var unknown: [Int32: Missed] = [:]

  private enum Missed { case changed, gone }

  package struct Change: Sendable, Equatable {
    package let directory: String
    /// Empty: the directory itself. It has gone, or so much changed at once that the kernel did not keep the names.
    package let name: String
    /// The entry was made a moment ago: a link is whole at once, and a file is not, which is heard of again when it is closed.
    package let isNew: Bool

    package init(directory: String, name: String, isNew: Bool = false) {
      self.directory = directory
      self.name = name
      self.isNew = isNew
    }
  }

  /// Asks the kernel to watch directories, on any thread: it may take as long as their file system takes (T55).
  package struct Adder: Sendable {
    fileprivate let descriptor: Int32

    /// The watch, for `register`. Watching a directory twice is one watch.
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

  /// From now on `changes()` tells of the directory that was added as `watch`. False if something happened to it in between,
  /// or if it was another directory so far: add it, and look at what is in it, once more. One that has gone and come back
  /// must be added again, too.
  package func register(_ directory: String, as watch: Int32) -> Bool {
    var isAnother = false
    for (other, names) in directories where other != watch && names.contains(directory) {
      remove(directory, from: other)
      isAnother = true
    }
    let missed = unknown.removeValue(forKey: watch)
    if missed == .gone { return false }
    if directories[watch]?.contains(directory) != true { directories[watch, default: []].append(directory) }
    return missed == nil && !isAnother
  }

  /// Ends the watches of all others.
  package func keep(only wanted: Set<String>) {
    for (watch, names) in directories {
      for name in names where !wanted.contains(name) { remove(name, from: watch) }
    }
  }

  /// When no watch is waiting to be registered.
  package func discardUnknown() { unknown = [:] }

  private func remove(_ directory: String, from watch: Int32) {
    directories[watch]?.removeAll { $0 == directory }
    guard directories[watch]?.isEmpty == true else { return }
    directories[watch] = nil
    inotify_rm_watch(descriptor, watch)
    unknown[watch] = .gone
  }

  /// The changes since the last call.
  package func changes() -> [Change] {
    var found: [Change] = []
    // On the stack, since requests ask; room for three events of the longest names.
    withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 8) { buffer in
      for _ in 0..<1024 {  // what is left makes the descriptor readable again
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
      note(event, String(decoding: name, as: UTF8.self), in: &found)
      offset = end
    }
  }

  private func note(_ event: inotify_event, _ name: String, in found: inout [Change]) {
    if event.mask & UInt32(IN_Q_OVERFLOW) != 0 {
      for directory in directories.values.joined() { found.append(Change(directory: directory, name: "")) }
      return
    }
    let isGone = event.mask & UInt32(IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT) != 0
    guard let names = directories[event.wd] else {
      if isGone || unknown[event.wd] == nil { unknown[event.wd] = isGone ? .gone : .changed }
      return
    }
    if isGone {
      directories[event.wd] = nil
      unknown[event.wd] = .gone
      inotify_rm_watch(descriptor, event.wd)  // a directory that moved away is watched on, under a wrong name
    }
    let isNew = event.mask & UInt32(IN_CREATE) != 0
    for directory in names {
      found.append(Change(directory: directory, name: isGone ? "" : name, isNew: isNew && !isGone))
    }
  }

  /// Whether it is a link, symbolic or hard, or that is unknown. Asks its file system.
  package static func isLink(_ path: String) -> Bool {
    var status = stat()
    guard lstat(path, &status) == 0 else { return errno != ENOENT }
    let kind = status.st_mode & S_IFMT
    return kind == S_IFLNK || (kind == S_IFREG && status.st_nlink > 1)
  }
}

private let mask = UInt32(
  IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB | IN_CREATE | IN_DELETE_SELF | IN_MOVE_SELF)
