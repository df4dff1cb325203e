import Foundation
import Synchronization
import ServerSupport
import TestSupport

/// A file system in user space (fuse(4)) for one file, `audit.log`. It can stop responding, as a network disk without
/// its server does. Only for root.
final class StallingDisk: @unchecked Sendable {
  enum Mode: Sendable {
    case responding
    /// Responds until the first write, which stays pending.
    case stallsOnWrite
    /// Reads no more requests of the kernel.
    case stalled
    /// Reads requests and never responds. The waiting process cannot be killed.
    case unresponsive
  }

  private struct State: Sendable {
    var mode = Mode.responding
    var content: [UInt8] = []
    var isMade = false
    var hasStalled = false
  }

  let path: String
  private let descriptor: Int32
  private let control: (reading: Int32, writing: Int32)
  private let state = Mutex(State())
  private let ended = Gate()

  private static let root: UInt64 = 1
  private static let file: UInt64 = 2
  /// Seconds for which the kernel may cache attributes.
  private static let validity: UInt64 = 0

  /// - Parameter path: the mount point, which is created.
  init(_ path: String) throws {
    self.path = path
    descriptor = open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK)
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw TestFailure("pipe") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    control = (ends[0], ends[1])
    let options = "fd=\(descriptor),rootmode=40000,user_id=0,group_id=0"
    guard descriptor >= 0, mkdir(path, 0o700) == 0, mount("stalling", path, "fuse", 0, options) == 0 else {
      throw TestFailure("fuse: \(String(cString: strerror(errno)))")
    }
    Thread.detachNewThread { [self] in serve() }
  }

  /// Unmounts the file system. Blocked accesses fail.
  func end() {
    _ = write(control.writing, "e", 1)
    _ = ended.pass()
    umount2(path, Int32(MNT_DETACH))
    close(descriptor)
    close(control.reading)
    close(control.writing)
  }

  func setMode(_ mode: Mode) {
    state.withLock { state in
      state.mode = mode
      state.hasStalled = mode == .stalled
    }
    _ = write(control.writing, "m", 1)
  }

  /// Whether a write is pending or no requests are read.
  var hasStalled: Bool { state.withLock { $0.hasStalled } }
  var lines: [String] {
    String(decoding: state.withLock { $0.content }, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  // MARK: the server

  private func serve() {
    defer { ended.open() }
    var request = [UInt8](repeating: 0, count: 1 << 18)
    var pendingWrite: [UInt8]?
    while true {
      let (mode, hasStalled) = state.withLock { ($0.mode, $0.hasStalled) }
      if mode == .responding, let write = pendingWrite {
        pendingWrite = nil
        respond(to: write)
      }
      var entries = [pollfd(fd: control.reading, events: Int16(POLLIN), revents: 0)]
      if !hasStalled { entries.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)) }
      guard poll(&entries, nfds_t(entries.count), -1) > 0 else { continue }
      if entries[0].revents != 0 {
        var byte: UInt8 = 0
        guard read(control.reading, &byte, 1) == 1, byte != UInt8(ascii: "e") else { return }
        continue
      }
      let count = read(descriptor, &request, request.count)
      guard count >= 40 else {
        if count < 0, errno == EAGAIN || errno == EINTR || errno == ENOENT { continue }
        return
      }
      let bytes = Array(request[..<count])
      let isWrite = bytes.number(UInt32.self, at: 4) == 16
      if isWrite, mode == .stallsOnWrite {
        pendingWrite = bytes
        state.withLock { $0.hasStalled = true }
      } else if mode != .unresponsive {
        respond(to: bytes)
      }
    }
  }

  /// `request` begins with fuse_in_header, 40 bytes: length, operation, request number, node.
  private func respond(to request: [UInt8]) {
    let (operation, node) = (request.number(UInt32.self, at: 4), request.number(UInt64.self, at: 16))
    let unique = request.number(UInt64.self, at: 8)
    switch operation {
    case 1:  // LOOKUP
      let isThere = state.withLock { $0.isMade } && request.name(at: 40) == "audit.log"
      isThere ? reply(unique, entry) : reply(unique, error: ENOENT)
    case 2, 36, 42: break  // FORGET, INTERRUPT, BATCH_FORGET
    case 3, 4: reply(unique, Bytes().add(Self.validity).add(UInt32(0)).add(UInt32(0)).add(attributes(node)))
    case 14, 27: reply(unique, opened)  // OPEN, OPENDIR
    case 15:  // READ
      let (offset, size) = (Int(request.number(UInt64.self, at: 48)), Int(request.number(UInt32.self, at: 56)))
      reply(unique, Bytes(state.withLock { Array($0.content.dropFirst(offset).prefix(size)) }))
    case 16:  // WRITE
      let (offset, size) = (Int(request.number(UInt64.self, at: 48)), Int(request.number(UInt32.self, at: 56)))
      state.withLock { $0.content = Array($0.content.prefix(offset)) + request[80..<(80 + size)] }
      reply(unique, Bytes().add(UInt32(size)).add(UInt32(0)))
    case 18, 20, 29: reply(unique, Bytes())  // RELEASE, FSYNC, RELEASEDIR
    case 26:  // INIT: version 7.31, no flags, writes of 64 KiB, and zeros up to 64 bytes
      let version = Bytes().add(UInt32(7)).add(UInt32(31)).add(UInt32(0)).add(UInt32(0)).add(UInt32(0))
      reply(unique, version.add(UInt32(1 << 16)).add(UInt32(1)).fill(to: 64))
    case 35:  // CREATE
      state.withLock { $0.isMade = true }
      reply(unique, entry.add(opened))
    default: reply(unique, error: ENOSYS)
    }
  }

  private var entry: Bytes {
    Bytes().add(Self.file).add(UInt64(0)).add(Self.validity).add(Self.validity).add(UInt64(0))
      .add(attributes(Self.file))
  }

  /// FOPEN_NOFLUSH, so that closing the file never blocks, not even at the end of a process.
  private var opened: Bytes { Bytes().add(UInt64(0)).add(UInt32(1 << 5)).add(UInt32(0)) }

  /// fuse_attr: node, size, blocks, times, then mode, links, owner, group, device, block size, flags.
  private func attributes(_ node: UInt64) -> Bytes {
    let isRoot = node == Self.root
    let size = isRoot ? 0 : state.withLock { $0.content.count }
    var bytes = Bytes().add(node).add(UInt64(size)).fill(to: 60)
    for number in [isRoot ? 0o040700 : 0o100600, 1, Int(geteuid()), Int(getegid()), 0, 4096, 0] {
      bytes = bytes.add(UInt32(number))
    }
    return bytes
  }

  private func reply(_ unique: UInt64, _ body: Bytes = Bytes(), error: Int32 = 0) {
    let head = Bytes().add(UInt32(16 + body.bytes.count)).add(UInt32(bitPattern: -error)).add(unique)
    let bytes = head.add(body).bytes
    _ = write(descriptor, bytes, bytes.count)
  }
}

/// Builds replies from numbers in native byte order, which the kernel expects.
private struct Bytes {
  var bytes: [UInt8]

  init(_ bytes: [UInt8] = []) { self.bytes = bytes }

  func add(_ number: some FixedWidthInteger) -> Bytes { Bytes(bytes + withUnsafeBytes(of: number) { Array($0) }) }
  func add(_ other: Bytes) -> Bytes { Bytes(bytes + other.bytes) }
  func fill(to count: Int) -> Bytes { Bytes(bytes + [UInt8](repeating: 0, count: count - bytes.count)) }
}

extension [UInt8] {
  fileprivate func number<Number: FixedWidthInteger>(_: Number.Type, at offset: Int) -> Number {
    withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: Number.self) }
  }

  fileprivate func name(at offset: Int) -> String {
    String(decoding: self[offset...].prefix { $0 != 0 }, as: UTF8.self)
  }
}
