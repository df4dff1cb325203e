import TestServer
import Foundation
import TestSupport
import Testing

func makeAuthority(in scratch: Scratch) throws {
  try scratch.write("ca.pem", authority().pem, mode: 0o644)
}

private func authority() throws -> Certificate {
  var options = Certificate.Options()
  options.commonName = "test CA"
  options.isCA = true
  options.notAfter = 86_400 * 90 + 60
  return try Certificate(options)
}

@Suite struct PinTests {
  let scratch: Scratch
  let ca: Certificate
  let leaf: Certificate

  init() throws {
    scratch = try Scratch()
    ca = try authority()
    var options = Certificate.Options()
    options.commonName = "upstream"
    options.dnsNames = ["localhost"]
    options.notAfter = 86_400 * 30 + 60
    leaf = try Certificate(options, issuer: ca)
    try scratch.write("ca.pem", ca.pem)
  }

  /// Returns the output with names for keys, days and ports.
  private func plain(_ text: String) -> String {
    let pins = [leaf.pin: "sha256/LEAF", ca.pin: "sha256/CA"]
    return scratch.plain(text, pins).replacing(/expires      [0-9-]{10}/, with: "expires      DAY")
      .replacing(/localhost:\d+/, with: "localhost:PORT")
  }

  private func server(_ chain: [Certificate]) throws -> UpstreamServer {
    try UpstreamServer(chain: chain, handler: UpstreamServer.httpHandler(response: ""))
  }

  @Test
  func `pin prints the verified chain of a host and a line to copy, and sends no request`() throws {
    let server = try server([leaf])
    defer { server.stop() }
    let run = try Run("pin", "localhost:\(server.port)", "--ca-file", "\(scratch.path)/ca.pem")
    #expect(run.status == 0, "\(run.errors)")
    let day = String(ISO8601DateFormatter().string(from: Date(timeIntervalSinceNow: 86_400 * 30)).prefix(10))
    #expect(run.output.contains("expires      \(day), "), "\(run.output)")
    #expect(run.output.contains("\n    pins: [\(leaf.pin), \(ca.pin)]\n"))
    let text = plain(run.output)
    #expect(text == (try golden("pin-host.txt", for: text)))
    #expect(server.finish().allSatisfy { $0.bytes.isEmpty })
  }

  @Test
  func `pin accepts a URL`() throws {
    let server = try server([leaf])
    defer { server.stop() }
    let run = try Run("pin", "https://localhost:\(server.port)/some/path/", "--ca-file", "\(scratch.path)/ca.pem")
    #expect(run.status == 0, "\(run.errors)")
  }

  @Test
  func `pin verifies the name of --server-name instead of the host`() throws {
    let server = try server([leaf])
    defer { server.stop() }
    let host = "127.0.0.1:\(server.port)"
    let file = "\(scratch.path)/ca.pem"
    let run = try Run("pin", host, "--server-name", "localhost", "--ca-file", file)
    #expect(run.status == 0, "\(run.errors)")
    #expect(server.records.last?.serverName == "localhost")
    #expect(try Run("pin", host, "--ca-file", file).status == 1)
    #expect(try Run("pin", host, "--server-name", "localhost:1", "--ca-file", file).status == 2)
    #expect(try Run("pin", file, "--server-name", "localhost").status == 2)
  }

  @Test(arguments: ["authority", "name", "expired", "plain"])
  func `pin prints no pin for a host that cannot be verified`(kind: String) throws {
    var options = Certificate.Options()
    options.dnsNames = [kind == "name" ? "other.test" : "localhost"]
    if kind == "expired" { options.notAfter = -60 }
    let issuer = try kind == "authority" ? authority() : ca
    var serverOptions = UpstreamServer.Options()
    serverOptions.isPlain = kind == "plain"
    let server = try UpstreamServer(chain: [Certificate(options, issuer: issuer)], options: serverOptions) {
      connection in
      _ = try? connection.read()
      try? connection.write(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8))
    }
    defer { server.stop() }
    let run = try Run("pin", "localhost:\(server.port)", "--ca-file", "\(scratch.path)/ca.pem")
    #expect(run.status == 1)
    #expect(run.output == "")
    #expect(!run.errors.contains("sha256/"))
    let errors = plain(run.errors)
    #expect(errors == (try golden("pin-refused-\(kind).txt", for: errors)))
  }

  @Test
  func `pin exits with 69 if the connection is refused`() throws {
    let server = try server([leaf])
    server.stop()
    let run = try Run("pin", "localhost:\(server.port)")
    #expect(run.status == 69)
    #expect(run.errors.contains("Connection refused"))
  }

  @Test(arguments: ["cert.pem", "cert.der"])
  func `pin prints the same pin as openssl for PEM and DER files`(name: String) throws {
    let pem = try scratch.write("cert.pem", leaf.pem)
    let shell = { (script: String) throws -> String in
      let run = try Run(program: "/bin/sh", ["-c", script])
      try #require(run.status == 0, "\(run.errors)")
      return run.output
    }
    _ = try shell("openssl x509 -in \(pem) -outform DER -out \(scratch.path)/cert.der")
    let expected = try shell(
      "openssl x509 -in \(pem) -pubkey -noout | openssl pkey -pubin -outform DER | openssl dgst -sha256 -binary | base64"
    )
    let run = try Run("pin", "\(scratch.path)/\(name)")
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.output.contains("pin          sha256/\(expected)"))
    let text = plain(run.output).replacing(name, with: "FILE")
    #expect(text == (try golden("pin-file.txt", for: text)))
  }

  @Test
  func `pin prints all certificates of a chain file and a line with leaf and issuer`() throws {
    let file = try scratch.write("chain.pem", leaf.pem + ca.pem)
    let run = try Run("pin", file)
    #expect(run.status == 0)
    #expect(run.output.contains("    pins: [\(leaf.pin), \(ca.pin)]\n"))
    let text = plain(run.output)
    #expect(text == (try golden("pin-chain-file.txt", for: text)))
  }

  @Test
  func `pin exits with 1 for a file without a certificate and with 66 for a missing file`() throws {
    let file = try scratch.write("key.pem", leaf.keyPEM)
    let run = try Run("pin", file)
    #expect(run.status == 1)
    let errors = plain(run.errors)
    #expect(errors == (try golden("pin-no-certificate.txt", for: errors)))
    #expect(run.output == "")
    for name in ["\(scratch.path)/none", "nosuch.pem", "nosuch.CRT", "nosuch.cer", "nosuch.der"] {
      let run = try Run("pin", name)
      #expect(run.status == 66)
      #expect(run.errors == "bearerctl: no such file: \(name)\n")
    }
  }

  @Test
  func `pin exits with 2 for a --ca-file without certificates`() throws {
    let file = try scratch.write("empty.pem", "")
    #expect(try Run("pin", "localhost:1", "--ca-file", file).status == 2)
  }
}
