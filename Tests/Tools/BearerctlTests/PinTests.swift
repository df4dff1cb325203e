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
      .replacing(/[0-9-]{10}T[0-9:]{8}Z/, with: "TIME")
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
    #expect(!run.errors.contains("pins:"))
    #expect(run.errors.contains("not verified") == (kind != "plain"))
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
  func `pin exits with 1 for a private key and with 66 for a missing file`() throws {
    let file = try scratch.write("key.pem", leaf.keyPEM)
    let run = try Run("pin", file)
    #expect(run.status == 1)
    let errors = plain(run.errors)
    #expect(errors == (try golden("pin-private-key.txt", for: errors)))
    #expect(run.output == "")
    for name in ["\(scratch.path)/none", "nosuch.pem", "nosuch.CRT", "nosuch.cer", "nosuch.der", "nosuch.csr"] {
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

  // MARK: keys

  private func shell(_ script: String) throws -> Run {
    try Run(program: "/bin/sh", ["-c", "cd '\(scratch.path)'; \(script)"])
  }

  @Test func `pin reads public keys and certificate requests from files and standard input`() throws {
    try scratch.write("key.pem", leaf.keyPEM)
    let made = try shell(
      """
      openssl pkey -in key.pem -pubout -out key.pub && openssl req -new -key key.pem -subj /CN=next -out next.csr
      """)
    try #require(made.status == 0, "\(made.errors)")
    for file in ["key.pub", "next.csr"] {
      let run = try Run("pin", "\(scratch.path)/\(file)")
      #expect(run.status == 0 && run.output.contains("   pin          \(leaf.pin)\n"), "\(run.text)")
      #expect(try shell("\(Run.binary) pin - <\(file)").output.contains("   pin          \(leaf.pin)\n"))
    }
    let text = plain(try Run("pin", "\(scratch.path)/next.csr").output)
    #expect(text == (try golden("pin-request.txt", for: text)))
  }

  @Test func `pin reads at most 4 MiB from standard input`() throws {
    let run = try shell("head -c 5000000 /dev/zero | \(Run.binary) pin -")
    #expect(run.status == 2 && run.output == "")
  }

  @Test func `pin new-backup creates a private key that only its owner can read, and prints its pin`() throws {
    let file = scratch.path + "/backup.key"
    let run = try shell("umask 777; \(Run.binary) pin new-backup backup.key")
    #expect(run.status == 0, "\(run.errors)")
    let attributes = try FileManager.default.attributesOfItem(atPath: file)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    let hash = try shell("openssl pkey -in backup.key -pubout -outform DER | openssl dgst -sha256 -binary | base64")
      .output
    let pin = "sha256/\(hash.filter { $0 != "\n" })"
    #expect(pin.count == 51 && run.output.contains("    pins: [sha256/…, \(pin)]\n"), "\(run.output)")
    #expect(try shell("openssl pkey -in backup.key -noout -text").output.contains("prime256v1"))
    #expect(try String(contentsOfFile: file, encoding: .utf8).hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
    #expect(try shell("openssl pkey -in backup.key -pubout | \(Run.binary) pin -").output.contains(pin))
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path).sorted() == ["backup.key", "ca.pem"])
    let text = scratch.plain(run.output, [pin: "sha256/BACKUP"])
    #expect(text == (try golden("pin-new-backup.txt", for: text)))
  }

  @Test func `pin new-backup changes no existing file, and follows no link`() throws {
    try scratch.write("old.key", "old")
    try FileManager.default.createSymbolicLink(atPath: scratch.path + "/link.key", withDestinationPath: "target.key")
    for name in ["old.key", "link.key"] {
      let run = try Run("pin", "new-backup", "\(scratch.path)/\(name)")
      #expect(run.status == 1 && run.output == "", "\(run.text)")
    }
    #expect(try String(contentsOfFile: scratch.path + "/old.key", encoding: .utf8) == "old")
    #expect(!FileManager.default.fileExists(atPath: scratch.path + "/target.key"))
    #expect(try Run("pin", "new-backup", "\(scratch.path)/missing/new.key").status == 71)
  }

  // MARK: services

  private func configuration(_ services: String) throws -> String {
    try scratch.write(
      "bearerd/bearerd.yaml",
      """
      listeners:
        main: { address: localhost:7070, allow_users: [\(getuid())] }
      services:
      \(services)

      """, mode: 0o644)
  }

  private func service(_ name: String, _ port: UInt16, _ keys: String = "") -> String {
    "  \(name): { upstream: https://localhost:\(port)/v1/, credential: none, ca_file: ../ca.pem\(keys) }\n"
  }

  @Test func `pin accepts the name of a service, and uses its upstream and its authorities`() throws {
    let server = try server([leaf])
    defer { server.stop() }
    let file = try configuration(service("api", server.port) + service("my.api", server.port))
    for run in [
      try Run("pin", "api", "-c", file), try Run("pin", "--config", file, "my.api"),
      try Run("pin", "show", "api", "-c", file),
    ] {
      #expect(run.status == 0, "\(run.errors)")
      #expect(run.output.contains("\n    pins: [\(leaf.pin), \(ca.pin)]\n"))
    }
    let text = plain(try Run("pin", "api", "-c", file).output)
    #expect(text == (try golden("pin-service.txt", for: text)))
    let unknown = try Run("pin", "apo", "-c", file)
    #expect(unknown.status == 2 && unknown.errors.contains("\"api\""))
  }

  @Test(.enabled(if: getuid() >= 1000, "root has another default configuration"))
  func `pin finds a service in the default configuration, unless it is a file or a host with a port`() throws {
    let server = try server([leaf])
    defer { server.stop() }
    _ = try configuration(service("api", server.port) + service("localhost", server.port))
    let environment = ["XDG_CONFIG_HOME": scratch.path]
    let run = try Run("pin", "api", environment: environment)
    #expect(run.status == 0 && run.output.contains(leaf.pin), "\(run.errors)")
    #expect(try Run("pin", "localhost", environment: environment).output.contains("service localhost"))
    let host = try Run(
      "pin", "localhost:\(server.port)", "--ca-file", "\(scratch.path)/ca.pem", environment: environment)
    #expect(host.status == 0 && !host.output.contains("service"))
  }

  @Test func `pin test prints ok and exits with 0 if all services are fine`() throws {
    let server = try server([leaf])
    defer { server.stop() }
    let file = try configuration(
      service("none", server.port) + service("right", server.port, ", pins: [\(leaf.pin), \(other)]")
        + "  plain: { upstream: http://127.0.0.1:1/, credential: none }\n")
    let run = try Run("pin", "test", "-c", file)
    #expect(run.status == 0, "\(run.text)")
    let text = plain(run.output)
    #expect(text == (try golden("pin-test.txt", for: text)))
    #expect(server.finish().allSatisfy { $0.bytes.isEmpty })
  }

  private let other = "sha256/n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg="

  @Test func `pin test exits with 1 if pins or a certificate fail, and with 69 if a service is unreachable`() throws {
    let server = try server([leaf])
    defer { server.stop() }
    let stopped = try self.server([leaf])
    stopped.stop()
    let another = "sha256/BuP9j9opu2CrWVV95h7bCuzbIxE0vjDnW0Vfjht5L6k="
    let pins = ", pins: [\(other), \(another)]"
    try scratch.write("other.pem", try authority().pem, mode: 0o644)
    let file = try configuration(
      service("right", server.port, ", pins: [\(leaf.pin), \(other)]") + service("wrong", server.port, pins)
        + service("reported", server.port, pins + ", pin_mode: report")
        + service("ended", server.port, ", pins: [\(leaf.pin), \(other)], pins_expire: 2020-01-31")
        + service("untrusted", server.port).replacing("ca.pem", with: "other.pem") + service("away", stopped.port))
    for (name, status, word) in [
      ("right", 0, "ok"), ("wrong", 1, "mismatch"), ("reported", 1, "mismatch"), ("ended", 1, "invalid"),
      ("untrusted", 1, "invalid"), ("away", 69, "unreachable"),
    ] as [(String, Int32, String)] {
      let run = try Run("pin", "test", name, "-c", file)
      #expect(run.status == status && run.output.hasPrefix("\(name)  \(word)"), "\(run.text)")
    }
    let all = try Run("pin", "test", "-c", file)
    #expect(all.status == 1 && all.output.split(separator: "\n").count == 6, "\(all.text)")
    #expect(try Run("pin", "test", "nosuch", "-c", file).status == 2)
    let http2 = try configuration(service("http2", server.port, ", protocol: http2"))
    let unsupported = try Run("pin", "test", "-c", http2)
    #expect(unsupported.status == 69 && unsupported.output.contains("does not speak HTTP/2"), "\(unsupported.text)")
  }

  @Test func `a host with the name of a subcommand needs a port`() throws {
    #expect(try Run("pin", "test:x").errors.contains("test:x is neither a host nor a file"))
    #expect(try Run("pin", "test", "-c", "\(scratch.path)/none.yaml").status == 2)
  }
}
