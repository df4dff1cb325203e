import Crypto
import Glibc
import TestSupport
import Testing

/// Searches the memory of the process for parts of a private key.
@Suite struct PrivateKeyMemoryTests {
  @Test(.enabled(if: !isSanitized), arguments: [false, true])
  func `a private key leaves no copy in memory, in either PEM format`(_ isPKCS8: Bool) async {
    await #expect(processExitsWith: .success) { [isPKCS8 = isPKCS8 as Bool] in
      // Bytes of the private number in both byte orders, with all bits inverted.
      let encoded: [[UInt8]] = [
        [0x71, 0x64, 0xEF, 0x61, 0x8E, 0x6F, 0x67, 0x40, 0x67, 0xFB, 0x78, 0x20],
        [0x20, 0x78, 0xFB, 0x67, 0x40, 0x67, 0x6F, 0x8E, 0x61, 0xEF, 0x64, 0x71],
      ]
      func found() -> Int { encoded.map { occurrences(of: $0) { ~$0 } }.reduce(0, +) }
      let pem = Array((isPKCS8 ? KnownKeys.ecPKCS8 : KnownKeys.ec).utf8)
      for _ in 0..<3 {
        let key = try pem.span.withUnsafeBytes { (pem) throws(SigningKey.Problem) in try SigningKey(pem: pem) }
        guard found() == 1 else { exit(1) }
        var count = 0
        let isSigned = pem.span.withUnsafeBytes { pem in key.withSignature(of: pem) { count = $0.count } }
        guard isSigned, count == 64, found() == 1 else { exit(2) }
        _ = consume key
        guard found() == 0 else { exit(3) }
      }
    }
  }
}
