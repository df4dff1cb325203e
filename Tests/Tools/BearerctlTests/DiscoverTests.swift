import Foundation
import TestServer
import TestSupport
import Testing

/// A TLS server on localhost with a document for each path, which records requests.
final class MetadataServer {
  let server: UpstreamServer
  var issuer: String { "https://localhost:\(server.port)" }

  /// - Parameter responses: Whole responses by `METHOD /path`, with `ORIGIN` for the origin of the server. Other requests
  ///   get 404.
  init(_ scratch: Scratch, _ responses: [String: String]) throws {
    var options = Certificate.Options()
    options.commonName = "test CA"
    options.isCA = true
    let ca = try Certificate(options)
    try scratch.write("ca.pem", ca.pem, mode: 0o644)
    var leaf = Certificate.Options()
    leaf.dnsNames = ["localhost"]
    server = try UpstreamServer(
      chain: [Certificate(leaf, issuer: ca)],
      handler: UpstreamServer.httpHandler { request in
        let lines = String(decoding: request.head, as: UTF8.self).split(separator: "\r\n")
        let line = lines[0].split(separator: " ").prefix(2).joined(separator: " ")
        let host = lines.first { $0.hasPrefix("Host: ") }?.dropFirst("Host: ".count) ?? ""
        let response = responses[line] ?? MetadataServer.response("", status: "404 Not Found")
        return Array(response.replacing("ORIGIN", with: "https://\(host)").utf8)
      })
  }

  deinit { server.stop() }

  /// The request lines so far.
  var requests: [String] {
    server.records.flatMap { record in
      String(decoding: record.bytes, as: UTF8.self).split(separator: "\r\n").filter { $0.hasSuffix(" HTTP/1.1") }
        .map { String($0.dropLast(" HTTP/1.1".count)) }
    }
  }

  /// The text of all requests.
  var received: String { server.records.map { String(decoding: $0.bytes, as: UTF8.self) }.joined() }

  /// A response that ends with the connection, so that its length may change.
  static func response(_ body: String, status: String = "200 OK", fields: String = "") -> String {
    let chunk = "\(body)"
    return "HTTP/1.1 \(status)\r\nContent-Type: application/json\r\n\(fields)Connection: close\r\n"
      + (chunk.contains("ORIGIN")
        ? "Content-Length: \(chunk.utf8.count + chunk.ranges(of: "ORIGIN").count * ("https://localhost:12345".utf8.count - 6))\r\n\r\n\(chunk)"
        : "Content-Length: \(chunk.utf8.count)\r\n\r\n\(chunk)")
  }

  static let good = #"""
    { "issuer": "ORIGIN", "token_endpoint": "ORIGIN/token", "authorization_endpoint": "ORIGIN/authorize",
      "device_authorization_endpoint": "ORIGIN/device", "revocation_endpoint": "ORIGIN/revoke",
      "registration_endpoint": "ORIGIN/register", "scopes_supported": ["mail.read", "offline_access", "a\u001bb"],
      "grant_types_supported": ["authorization_code", "refresh_token", "client_credentials"],
      "token_endpoint_auth_methods_supported": ["client_secret_post", "none", "client_secret_jwt"],
      "authorization_response_iss_parameter_supported": true, "service_documentation": "\u001b[31mred" }
    """#
}

@Suite struct DiscoverTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private static let first = "GET /.well-known/oauth-authorization-server"
  private static let second = "GET /.well-known/openid-configuration"

  private func discover(_ server: MetadataServer, _ path: String = "", _ options: String...) throws -> Run {
    try Run(
      program: Run.binary,
      ["discover", server.issuer + path, "--ca-file", "\(scratch.path)/ca.pem"] + options)
  }

  /// Checks that the output of `discover` or `register` is a credential that `bearerctl check` accepts.
  static func isValid(_ lines: String, _ scratch: Scratch) throws -> Bool {
    for name in ["client", "refresh", "token", "password", "pem"] {
      try scratch.write("NAME.\(name)", "s3cret-s3cret", mode: 0o600)
    }
    let credential = lines.replacing("secrets/NAME", with: "\(scratch.path)/NAME").split(separator: "\n")
      .map { "    \($0)\n" }.joined()
    let text = """
      listeners: { main: { address: localhost:7070, allow_users: [root] } }
      credentials:
        c:
          origins: [https://api.example.com]
      \(credential)services:
        api: { upstream: https://api.example.com, credential: c }

      """
    try scratch.write("test.yaml", text, mode: 0o600)
    let run = try Run("check", "\(scratch.path)/test.yaml")
    #expect(!run.text.contains("error:"), "\(text)\n\(run.text)")
    return !run.text.contains("error:")
  }

  @Test func `discover prints lines that check accepts, for each grant with the server's endpoints`() throws {
    let server = try MetadataServer(scratch, [Self.first: MetadataServer.response(MetadataServer.good)])
    let run = try discover(server)
    #expect(run.status == 0, "\(run.errors)")
    #expect(server.requests == [Self.first])
    for line in [
      "token_url: \"\(server.issuer)/token\"", "authorization_url: \"\(server.issuer)/authorize\"",
      "revocation_url: \"\(server.issuer)/revoke\"", "issuer: \"\(server.issuer)\"", "grant: authorization_code",
      "client_auth: post",
    ] {
      #expect(run.output.contains("\n  \(line)"), "\(line)\n\(run.output)")
    }
    #expect(!run.output.utf8.contains(0x1B))
    #expect(run.output.contains("mail.read") && !run.output.contains("[31m"))
    for grant in [
      "authorization_code", "device_code", "client_credentials", "refresh_token", "jwt_bearer", "token_exchange",
      "password",
    ] {
      let run = try discover(server, "", "--grant", grant)
      #expect(run.status == 0, "\(run.errors)")
      #expect(run.output.contains("\n  grant: \(grant)"))
      #expect(try Self.isValid(run.output, scratch), "\(grant)")
    }
  }

  @Test func `discover tries all three places of an issuer with a path`() throws {
    let body = MetadataServer.good.replacing(#""issuer": "ORIGIN""#, with: #""issuer": "ORIGIN/a/b""#)
    let server = try MetadataServer(
      scratch, ["GET /a/b/.well-known/openid-configuration": MetadataServer.response(body)])
    #expect(try discover(server, "/a/b").status == 0)
    #expect(
      server.requests == [
        "\(Self.first)/a/b", "\(Self.second)/a/b", "GET /a/b/.well-known/openid-configuration",
      ])
  }

  @Test func `discover refuses a document of another issuer, and says which`() throws {
    let server = try MetadataServer(
      scratch, [Self.second: MetadataServer.response(#"{"issuer": "ORIGIN/", "token_endpoint": "ORIGIN/token"}"#)])
    let run = try discover(server)
    #expect(run.status == 1)
    #expect(run.output.isEmpty)
    #expect(run.errors.contains("bearerctl discover '") || run.errors.contains("bearerctl discover https"))
    #expect(run.errors.contains("\(server.issuer)/"))
  }

  @Test func `discover follows no redirect, and names its target without control characters`() throws {
    let server = try MetadataServer(
      scratch,
      [
        Self.first: MetadataServer.response("", status: "302 Found", fields: "Location: https://evil.test/x\r\n"),
        Self.second: MetadataServer.response("<html>"),
      ])
    let run = try discover(server)
    #expect(run.status == 1)
    #expect(run.errors.contains("https://evil.test/x"))
    #expect(server.requests.count == 2)
  }

  @Test(arguments: [
    #""http://localhost/token""#, #""https://localhost/token?x=1""#, #""https://u:p@localhost/""#,
    #""https://localhost/\u0007""#, #""https://localhost/a\nb""#, "7", "null", #"["https://localhost/"]"#,
  ])
  func `discover prints no token endpoint other than a plain https URL`(url: String) throws {
    let server = try MetadataServer(
      scratch, [Self.first: MetadataServer.response(#"{"issuer": "ORIGIN", "token_endpoint": \#(url)}"#)])
    let run = try discover(server)
    #expect(run.status == 1)
    #expect(run.output.isEmpty)
    #expect(run.errors.contains("token_endpoint"))
  }

  @Test func `discover bounds the document, and accepts a chunked one`() throws {
    let long = MetadataServer.response("{\"x\": \"\(String(repeating: "a", count: 70_000))\"}")
    let server = try MetadataServer(scratch, [Self.first: long])
    #expect(try discover(server).status == 1)
    let issuer = "ORIGIN"
    let body = #"{"issuer": "\#(issuer)", "token_endpoint": "ORIGIN/t", "authorization_endpoint": "ORIGIN/a"}"#
    let length = body.utf8.count + 3 * ("https://localhost:12345".utf8.count - 6)
    let chunked = try MetadataServer(
      scratch,
      [
        Self.first:
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(String(length, radix: 16))\r\n\(body)\r\n0\r\n\r\n"
      ])
    let run = try discover(chunked)
    #expect(run.status == 0, "\(run.errors)")
  }

  @Test func `discover needs a verified certificate and a valid issuer`() throws {
    let server = try MetadataServer(scratch, [Self.first: MetadataServer.response(MetadataServer.good)])
    let run = try Run("discover", server.issuer)
    #expect(run.status == 1)
    #expect(run.errors.contains("--ca-file"))
    #expect(server.requests.isEmpty)
    for issuer in ["http://localhost", "localhost", "https://localhost/?a", "https://u:p@localhost", "https://"] {
      #expect(try Run("discover", issuer).status == 2, "\(issuer)")
    }
    #expect(try Run("discover", "https://localhost:1").status == 69)
    #expect(try Run("discover", "https://localhost", "--ca-file", "/nonexistent").status == 66)
    #expect(try Run("discover", "https://localhost", "--grant", "implicit").status == 2)
  }
}
