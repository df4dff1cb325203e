import Foundation
import TLS
import TestServer
import TestSupport
import Testing

/// Searches the memory of the process for parts of a client certificate's private key.
@Suite struct ClientKeyMemoryTests {
  @Test(.enabled(if: !isSanitized), arguments: [Certificate.Key.ec256, .ed25519, .rsa2048])
  func `the key of a client certificate leaves no copy in memory`(_ kind: Certificate.Key) async throws {
    let certificate = try selfSigned { $0.key = kind }
    let der = decoded(certificate.keyPEM)
    // Bytes of the private number, with all bits inverted.
    let start = kind == .ec256 ? 36 : kind == .ed25519 ? 16 : 310
    let number = der[start...].prefix(12).map { ~$0 }
    let texts = [certificate.pem, certificate.keyPEM]
    await #expect(processExitsWith: .success) { [number = number as [UInt8], texts = texts as [String]] in
      func numbers() -> Int { [number, number.reversed()].map { occurrences(of: $0) { ~$0 } }.reduce(0, +) }
      let (pem, key) = (Array(texts[0].utf8), Array(texts[1].utf8))
      for _ in 0..<3 {
        var made: ClientCertificate? = try key.span.withUnsafeBytes { (key) throws(ClientCertificate.Problem) in
          try ClientCertificate(pem: pem, name: "c.pem", key: key, keyName: "c.key")
        }
        // The key and its copy for TLS.
        guard made != nil, numbers() == 2 else { exit(Int32(100 + numbers())) }
        made = nil
        guard numbers() == 0 else { exit(Int32(numbers())) }
      }
    }
  }
}
