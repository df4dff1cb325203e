import Foundation
import Glibc
import Testing

let isRoot = geteuid() == 0

/// `false` with sanitizers, which replace mlock(2) by a function that does nothing and reports success.
let locksMemory = dlsym(nil, "__asan_init") == nil && dlsym(nil, "__tsan_init") == nil

/// Close-on-exec, so that child processes of other tests do not keep the sockets open.
let streamType = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)

struct Unexpected: Error {
  let line: Int
}

/// For child processes: issues recorded there would be lost.
func expect(_ condition: Bool, line: Int = #line) throws {
  if !condition { throw Unexpected(line: line) }
}

/// A temporary directory that is deleted with this object.
final class Scratch {
  let path: String

  init() throws {
    var template = Array("/tmp/bearerd-test.XXXXXX".utf8CString)
    path = try #require(mkdtemp(&template).map { String(cString: $0) })
  }

  deinit {
    chmod(path, 0o700)
    try? FileManager.default.removeItem(atPath: path)
  }

  func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

  func write(_ text: String, to name: String, mode: mode_t = 0o600) {
    let descriptor = open(self(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
    Glibc.write(descriptor, text, text.utf8.count)
    close(descriptor)
  }
}

/// A blocking loopback connection without an event loop.
final class LoopbackPair {
  let client: Int32
  let server: Int32
  let listener: Int32
  let clientPort: UInt16
  let serverPort: UInt16

  /// `clientFamily` AF_INET6 with an IPv4 listener connects to the IPv4-mapped address.
  init(family: Int32 = AF_INET, clientFamily: Int32? = nil) throws {
    let clientFamily = clientFamily ?? family
    let (listener, client) = (socket(family, streamType, 0), socket(clientFamily, streamType, 0))
    (self.listener, self.client) = (listener, client)
    var six = sockaddr_in6()
    six.sin6_family = sa_family_t(AF_INET6)
    withUnsafeMutableBytes(of: &six.sin6_addr) { $0[15] = 1 }
    var four = sockaddr_in()
    four.sin_family = sa_family_t(AF_INET)
    four.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let isBound =
      family == AF_INET
      ? withAddress(&four) { bind(listener, $0, $1) } : withAddress(&six) { bind(listener, $0, $1) }
    try #require(isBound == 0 && listen(listener, 4) == 0)
    serverPort = try Self.port(of: listener)
    four.sin_port = serverPort.bigEndian
    six.sin6_port = serverPort.bigEndian
    if family == AF_INET {
      withUnsafeMutableBytes(of: &six.sin6_addr) {
        $0.copyBytes(from: [UInt8](repeating: 0, count: 10) + [255, 255, 127, 0, 0, 1])
      }
    }
    let isConnected =
      clientFamily == AF_INET
      ? withAddress(&four) { connect(client, $0, $1) } : withAddress(&six) { connect(client, $0, $1) }
    try #require(isConnected == 0)
    clientPort = try Self.port(of: client)
    server = accept(listener, nil, nil)
  }

  func close() {
    [client, server, listener].forEach { Glibc.close($0) }
  }

  private static func port(of descriptor: Int32) throws -> UInt16 {
    var address = sockaddr_in6()  // the port has the same offset in both families
    var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
    let status = withUnsafeMutablePointer(to: &address) {
      getsockname(descriptor, UnsafeMutableRawPointer($0).assumingMemoryBound(to: sockaddr.self), &size)
    }
    try #require(status == 0)
    return UInt16(bigEndian: address.sin6_port)
  }
}

func withAddress<Address>(_ address: inout Address, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
  withUnsafeBytes(of: &address) {
    body($0.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
  }
}
