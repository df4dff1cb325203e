import TestServer
import Policy
import Testing

@testable import TLS

/// A proof is valid for a period of calendar time, even if the clock jumps (T57).
@Suite struct ValidityTests {
  struct Row: Sendable {
    /// Validity of the leaf and the intermediate, end of the pins, and expected validity of the proof, in seconds from
    /// now.
    let leaf: Range<Int>
    let intermediate: Range<Int>
    var pins: Int?
    let expected: Range<Int>
  }

  static let rows = [
    Row(leaf: -1000..<1000, intermediate: -2000..<2000, expected: -1000..<1000),
    Row(leaf: -2000..<2000, intermediate: -1000..<1000, expected: -1000..<1000),
    Row(leaf: -1000..<2000, intermediate: -2000..<1000, pins: 3000, expected: -1000..<1000),
    Row(leaf: -2000..<2000, intermediate: -1000..<1000, pins: 500, expected: -1000..<500),
  ]

  @Test(arguments: rows, [0x0303, 0x0304] as [Int32])
  func `T57: a proof is valid while its whole chain and its pins are valid`(row: Row, version: Int32) throws {
    let root = try selfSigned { $0.isCA = true }
    let intermediate = try signed(row.intermediate, by: root) { $0.isCA = true }
    let leaf = try signed(row.leaf, by: intermediate) { $0.dnsNames = ["upstream.test"] }
    var options = UpstreamServer.Options()
    options.tlsVersion = version
    let server = try UpstreamServer(chain: [leaf, intermediate], options: options, handler: echo)
    defer { server.stop() }
    let store = try TrustStore(pem: Array(root.pem.utf8), name: "test")
    let now = unixTime()
    let pins = try row.pins.map { try pinning(leaf, root, expires: now + Int64($0)) }
    let context = try context(store, pinning: pins ?? PinPolicy())
    for isResumed in [false, true] {
      var client = try Client.connect(context, port: server.port)
      #expect(try client.exchange("hello") == "hello")
      client.closeNotify()
      let proof = client.session.proof
      #expect(proof.isResumed == isResumed)
      // Certificates were made within the last seconds.
      let (begins, ends) = (now + Int64(row.expected.lowerBound), now + Int64(row.expected.upperBound))
      #expect(abs(proof.validity.begins - begins) < 30 && abs(proof.validity.ends - ends) < 30)
    }
  }

  @Test func `T57: a validity period includes its first second and excludes its end`() {
    let validity = Validity(begins: 10, ends: 20)
    #expect([9, 10, 19, 20].map(validity.contains) == [false, true, true, false])
    #expect(!Validity(begins: .max, ends: 0).contains(0))
    #expect(!Validity(of: [], pinning: PinPolicy()).contains(0))
  }

  private func signed(
    _ time: Range<Int>, by issuer: Certificate, change: (inout Certificate.Options) -> Void
  ) throws -> Certificate {
    var options = Certificate.Options()
    (options.notBefore, options.notAfter) = (time.lowerBound, time.upperBound)
    options.commonName = "\(UInt64.random(in: 0 ... .max))"
    change(&options)
    return try Certificate(options, issuer: issuer)
  }
}
