import Foundation
import ServerSupport
import TestSupport

/// Two clients and their tokens, new in every run.
enum ClientTokens {
  struct Pair: Sendable {
    let text: String
    let digest: String

    /// As a user gets it.
    init() {
      let made = try? run([RunningDaemon.binary("bearerctl"), "token", "someone"])
      text = made?.output.trimmingCharacters(in: .newlines) ?? ""
      digest = made?.errors.firstMatch(of: /sha256\/[^ ]*/).map { String($0.0) } ?? ""
    }
  }

  static let ci = Pair()
  static let dev = Pair()

  /// As a value of `clients`.
  static var both: String { "{ ci: \(ci.digest), dev: \(dev.digest) }" }

  /// An address of this machine that is not loopback; nil: it has none.
  static let ownAddress: String? = {
    var first: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&first) == 0 else { return nil }
    defer { freeifaddrs(first) }
    var next = first
    while let interface = next?.pointee {
      next = interface.ifa_next
      guard let address = interface.ifa_addr, address.pointee.sa_family == sa_family_t(AF_INET) else { continue }
      let ip = address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
        UInt32(bigEndian: $0.pointee.sin_addr.s_addr)
      }
      guard ip >> 24 != 127 else { continue }
      return [24, 16, 8, 0].map { String(ip >> $0 & 255) }.joined(separator: ".")
    }
    return nil
  }()
}
