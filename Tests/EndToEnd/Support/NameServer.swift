import Foundation
import ServerSupport
import TestSupport

/// A name server on its own loopback address, for a daemon with its own /etc/resolv.conf. Only for root: resolv.conf(5)
/// has no other port than 53.
final class NameServer: @unchecked Sendable {
  enum Behavior {
    case notFound
    /// SERVFAIL.
    case failure
    case silence
    /// Ignores queries for names with this prefix. Other names are not found.
    case silenceAbout(String)
    /// Every name has this IPv4 address, and no IPv6 address.
    case address(UInt8, UInt8, UInt8, UInt8)
  }

  /// The command that starts the daemon in a mount namespace with this name server.
  let wrapper: [String]
  private let descriptor: Int32
  private let behavior: Behavior

  init(_ behavior: Behavior, in scratch: Scratch) throws {
    self.behavior = behavior
    let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var bound = ""
    for _ in 0..<20 where bound.isEmpty {
      let text = "127.\(Int.random(in: 1...250)).\(Int.random(in: 0...250)).53"
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = UInt16(53).bigEndian
      inet_pton(AF_INET, text, &address.sin_addr)
      let status = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      if status == 0 { bound = text }
    }
    self.descriptor = descriptor
    guard !bound.isEmpty else { throw TestFailure("no address for a name server: \(String(cString: strerror(errno)))") }
    // Longer than the daemon's own timeout, which is under test.
    let resolver = try scratch.write(
      "resolv.conf", "nameserver \(bound)\noptions timeout:30 attempts:1\n", mode: 0o644)
    let order = try scratch.write("nsswitch.conf", "hosts: files dns\n", mode: 0o644)
    wrapper = [
      "/usr/bin/unshare", "--mount", "sh", "-c",
      "mount --bind '\(resolver)' /etc/resolv.conf && mount --bind '\(order)' /etc/nsswitch.conf && exec \"$@\"", "sh",
    ]
    Thread.detachNewThread { [self] in serve() }
  }

  /// Whether this process may mount files.
  static let isPossible =
    isRoot
    && (try? run(["unshare", "--mount", "sh", "-c", "mount --bind /etc/hosts /etc/resolv.conf"]))?.status == 0

  func stop() {
    shutdown(descriptor, Int32(SHUT_RDWR))
    close(descriptor)
  }

  private func serve() {
    var query = [UInt8](repeating: 0, count: 512)
    while true {
      var from = sockaddr_in()
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let count = withUnsafeMutablePointer(to: &from) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { recvfrom(descriptor, &query, 512, 0, $0, &length) }
      }
      guard count > 12 else { return }
      guard let reply = reply(to: Array(query[..<count])) else { continue }
      _ = withUnsafePointer(to: &from) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          sendto(descriptor, reply, reply.count, 0, $0, length)
        }
      }
    }
  }

  /// Returns the reply: the question, with or without an answer record (RFC 1035 §4.1).
  private func reply(to query: [UInt8]) -> [UInt8]? {
    guard let end = query[12...].firstIndex(of: 0), end + 4 < query.count else { return nil }
    let isIPv4 = query[end + 2] == 1
    let head = { (code: UInt8, answers: UInt8) in
      Array(query[..<2]) + [0x81, 0x80 | code, 0, 1, 0, answers, 0, 0, 0, 0] + query[12..<(end + 5)]
    }
    switch behavior {
    case .silence: return nil
    case .silenceAbout(let prefix):
      // The length of the first label precedes the label.
      return query[13...].starts(with: prefix.utf8) ? nil : head(3, 0)
    case .notFound: return head(3, 0)
    case .failure: return head(2, 0)
    case .address(let a, let b, let c, let d):
      return isIPv4 ? head(0, 1) + [0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, a, b, c, d] : head(0, 0)
    }
  }
}
