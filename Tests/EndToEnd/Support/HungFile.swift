import Foundation
import ServerSupport
import TestSupport
import Testing

/// A file whose `open` blocks, as on a file server that does not respond. The kernel asks this process for permission
/// (fanotify(7), only for root) and gets no reply.
final class HungFile {
  private let descriptor: Int32
  private var pending: [Int32] = []
  private var isReleased = false

  /// - Parameter hasFiles: `true` if `path` is a directory, and each of its files hangs.
  init(_ path: String, hasFiles: Bool = false) throws {
    typealias Begin = @convention(c) (UInt32, UInt32) -> Int32
    typealias Mark = @convention(c) (Int32, UInt32, UInt64, Int32, UnsafePointer<CChar>) -> Int32
    guard let begin = dlsym(nil, "fanotify_init"), let mark = dlsym(nil, "fanotify_mark") else {
      throw TestFailure("no fanotify")
    }
    let (classContent, closeOnExec): (UInt32, UInt32) = (0x04, 0x01)
    descriptor = unsafeBitCast(begin, to: Begin.self)(classContent | closeOnExec, UInt32(O_RDONLY | O_CLOEXEC))
    let (add, openPermission, onChild): (UInt32, UInt64, UInt64) = (0x01, 0x10000, 0x0800_0000)
    let mask = openPermission | (hasFiles ? onChild : 0)
    guard descriptor >= 0, unsafeBitCast(mark, to: Mark.self)(descriptor, add, mask, AT_FDCWD, path) == 0
    else { throw TestFailure("fanotify: \(String(cString: strerror(errno)))") }
  }

  deinit { release() }

  /// Waits for the next attempt to open the file. Returns `false` after the timeout.
  func waitForOpen(within milliseconds: Int32 = 20_000) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&entry, 1, milliseconds) > 0 else { return false }
    // struct fanotify_event_metadata: the descriptor of the file is at byte 16.
    var event = [UInt8](repeating: 0, count: 24)
    guard read(descriptor, &event, event.count) == event.count else { return false }
    pending.append(event.withUnsafeBytes { $0.load(fromByteOffset: 16, as: Int32.self) })
    return true
  }

  /// Permits all pending and later attempts to open the file.
  func release() {
    guard !isReleased else { return }
    isReleased = true
    for file in pending { close(file) }
    close(descriptor)
  }
}

/// A directory that blocks every access: a file system in user space (fuse(4)) without a server.
final class HungDirectory {
  let path: String
  private let descriptor: Int32

  init(_ path: String) throws {
    self.path = path
    descriptor = open("/dev/fuse", O_RDWR | O_CLOEXEC)
    let options = "fd=\(descriptor),rootmode=40000,user_id=0,group_id=0"
    guard descriptor >= 0, mkdir(path, 0o700) == 0, mount("hung", path, "fuse", 0, options) == 0 else {
      throw TestFailure("fuse: \(String(cString: strerror(errno)))")
    }
  }

  /// Blocked accesses fail.
  deinit {
    umount2(path, Int32(MNT_DETACH))
    close(descriptor)
  }
}

extension Stage {
  /// Replaces the file `name` by a file that hangs.
  func hang(_ name: String, _ content: String, mode: mode_t = 0o600) throws -> HungFile {
    let path = try scratch.write("hung", content, mode: mode)
    let file = try HungFile(path)
    #expect(rename(path, scratch.path + "/" + name) == 0)
    return file
  }
}
