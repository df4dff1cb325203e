package import TestServer
import Foundation
import TestSupport
import Testing

/// A stage whose upstream asks for client certificates, with the certificates `robot` and `other` and their keys.
package final class CertificateStage {
  package let stage: Stage
  package let authority: Certificate

  package init(requires: Bool = true, tlsVersion: Int32? = nil) throws {
    authority = try Self.made("clients", isCA: true)
    var options = UpstreamServer.Options()
    options.clientAuthorities = [authority]
    options.requiresClientCertificate = requires
    options.tlsVersion = tlsVersion
    stage = try Stage(options: options)
    for name in ["robot", "other"] { try put(try Self.made(name, issuer: authority), as: name) }
  }

  package static func made(
    _ name: String, isCA: Bool = false, issuer: Certificate? = nil, notAfter: Int = 86_400 * 90
  ) throws -> Certificate {
    var options = Certificate.Options()
    options.commonName = name
    options.isCA = isCA
    options.serverAuth = false
    options.notAfter = notAfter
    return try Certificate(options, issuer: issuer)
  }

  package func put(_ certificate: Certificate, as name: String) throws {
    try stage.scratch.write("\(name).pem", certificate.pem, mode: 0o644)
    try stage.scratch.write("\(name).key", certificate.keyPEM)
  }

  package static func line(_ name: String, key: String? = nil, passphrase: String? = nil) -> String {
    let passphrase = passphrase.map { ", passphrase: { file: \($0) }" } ?? ""
    return "client_certificate: { certificate: \(name).pem, private_key: { file: \(key ?? name).key }\(passphrase) }"
  }

  package var names: [String?] { stage.upstream.records.map(\.clientName) }
}
