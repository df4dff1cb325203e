/// A certificate with its key, made at run time.
package final class Certificate {
  package enum Key: Sendable { case ec256, rsa2048, ed25519 }
  package struct Options: Sendable {
    package var commonName = "demo"
    package var dnsNames: [String] = []
    package var ipAddresses: [String] = []
    package var isCA = false
    /// Relative to now, seconds.
    package var notBefore = -3600
    package var notAfter = 86_400
    package var key = Key.ec256
    /// Extended key usage serverAuth unless false (then clientAuth).
    package var serverAuth = true
    package init() {}
  }
  /// nil issuer: self-signed. `reusingKeyOf`: a renewed certificate.
  package init(_ options: Options, issuer: Certificate? = nil, reusingKeyOf: Certificate? = nil) throws { fatalError() }
  package var pem: String { fatalError() }
  package var keyPEM: String { fatalError() }
  /// `sha256/BASE64` of the SPKI
  package var pin: String { fatalError() }
}

/// A small TLS server for demo, self-test and tests: blocking, a thread per connection, records every byte it gets.
/// Independent of EventLoop and TLS, so that a mistake there cannot hide itself.
package final class UpstreamServer: @unchecked Sendable {
  package struct Options: Sendable {
    package var address = "127.0.0.1"
    /// nil: both 1.2 and 1.3.
    package var tlsVersion: Int32?
    package var allowResumption = true
    package init() {}
  }
  /// `chain`: leaf first, then intermediates to send.
  package init(chain: [Certificate], options: Options = Options(), handler: @escaping @Sendable (UpstreamConnection) -> Void) throws { fatalError() }
  package var port: UInt16 { fatalError() }
  package func replaceCertificates(_ chain: [Certificate]) throws { fatalError() }
  package func stop() { fatalError() }
  package struct Record: Sendable {
    package let connection: Int
    package let serverName: String?
    package let handshakeCompleted: Bool
    package let isResumed: Bool
    /// Every application byte received.
    package let bytes: [UInt8]
  }
  /// All connections so far, TLS failures included.
  package var records: [Record] { fatalError() }
}

package final class UpstreamConnection {
  package let number: Int
  init(number: Int) { self.number = number }
  /// Blocking. Empty: the peer closed. Throws on timeout (10 s).
  package func read(maximum: Int = 65_536) throws -> [UInt8] { fatalError() }
  package func write(_ bytes: [UInt8]) throws { fatalError() }
  /// close_notify and FIN.
  package func close() { fatalError() }
  /// RST without close_notify.
  package func reset() { fatalError() }
}
