import Foundation
import Policy
import Crypto
import TestSupport
package import Testing

/// Two clients with random tokens.
package enum ClientTokens {
  package struct Pair: Sendable {
    package let text: String
    package let digest: String

    package init() {
      text = ClientToken.text(random: (0..<ClientToken.randomBytes).map { _ in .random(in: .min ... .max) })
      digest = TokenDigest.of(Array(text.utf8).span)?.description ?? ""
    }
  }

  package static let ci = Pair()
  package static let dev = Pair()

  /// A value for the key `clients`.
  package static var both: String { "{ ci: \(ci.digest), dev: \(dev.digest) }" }

  /// An IPv4 address of this machine other than loopback, or `nil` if the machine has none.
  package static let ownAddress: String? = {
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

extension Stage {
  /// Starts a stage whose listener has the clients `ci` and `dev`.
  package static func withClients(_ service: String = "") throws -> Stage {
    let stage = try Stage()
    try stage.start(
      stage.configuration(service: service, listener: "address: localhost:0\n    clients: \(ClientTokens.both)"))
    return stage
  }

  /// Asserts that neither the client tokens nor their digests appear at the upstream or in the log.
  package func assertNoClientToken(sourceLocation: SourceLocation = #_sourceLocation) {
    for pair in [ClientTokens.ci, ClientTokens.dev] {
      for form in Self.encodings(of: pair.text) + [pair.digest] {
        #expect(!recorded.contains(form), sourceLocation: sourceLocation)
        #expect(log.hides(form), sourceLocation: sourceLocation)
      }
    }
  }
}
