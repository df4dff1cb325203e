import Foundation
import TestServer
import TestSupport
import Testing

@Suite struct RegisterTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private static let secret = "s3cret-of-the-client"
  private static let token = "t0ken-of-the-registration"
  private static let client = #"""
    { "client_id": "id-1", "client_secret": "\#(secret)", "client_secret_expires_at": 1900000000,
      "registration_access_token": "\#(token)", "registration_client_uri": "https://localhost/register/id-1",
      "token_endpoint_auth_method": "client_secret_basic" }
    """#

  private func server(_ response: String) throws -> MetadataServer {
    try MetadataServer(
      scratch,
      [
        "GET /.well-known/oauth-authorization-server": MetadataServer.response(MetadataServer.good),
        "POST /register": response,
      ])
  }

  private func register(_ server: MetadataServer, _ options: String...) throws -> Run {
    let run = try Run(
      program: Run.binary,
      [
        "register", server.issuer, "--name", "mail", "--ca-file", "\(scratch.path)/ca.pem", "--config",
        "\(scratch.path)/home/bearerd.yaml",
      ] + options)
    #expect(!run.text.contains(Self.secret) && !run.text.contains(Self.token), "secrets are never printed")
    return run
  }

  private var secrets: String { "\(scratch.path)/home/secrets" }

  private func content(_ name: String) -> String? { try? String(contentsOfFile: "\(secrets)/\(name)", encoding: .utf8) }

  private func mode(_ name: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: "\(secrets)/\(name)")[.posixPermissions] as? Int
  }

  @Test func `register stores both secrets and prints lines that check accepts`() throws {
    let server = try server(MetadataServer.response(Self.client, status: "201 Created"))
    let run = try register(server, "--scope", "mail.read", "--scope", "offline_access")
    #expect(run.status == 0, "\(run.errors)")
    #expect(content("mail.client") == Self.secret)
    #expect(content("mail.registration") == Self.token)
    #expect(try mode("mail.client") == 0o600)
    #expect(try mode("mail.registration") == 0o600)
    let names = try FileManager.default.contentsOfDirectory(atPath: secrets)
    #expect(names.sorted() == ["mail.client", "mail.registration"])
    #expect(run.output.contains("client_id: \"id-1\"") && run.output.contains("client_auth: basic"))
    #expect(run.output.contains("2030-03-17"))
    #expect(try DiscoverTests.isValid(run.output, scratch))
    let body = server.received.split(separator: "\r\n\r\n").last.map(String.init) ?? ""
    let sent = try #require(try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any])
    #expect(sent["client_name"] as? String == "bearerd")
    #expect(sent["redirect_uris"] as? [String] == ["http://127.0.0.1/callback"])
    #expect(sent["grant_types"] as? [String] == ["authorization_code", "refresh_token"])
    #expect(sent["token_endpoint_auth_method"] as? String == "client_secret_post")
    #expect(sent["scope"] as? String == "mail.read offline_access")
    #expect(!server.received.contains("Authorization:"))
  }

  @Test func `register overwrites no file, and then sends no registration`() throws {
    let server = try server(MetadataServer.response(Self.client, status: "201 Created"))
    #expect(try register(server).status == 0)
    let again = try register(server)
    #expect(again.status == 1)
    #expect(again.errors.contains("mail.client"))
    #expect(server.requests.filter { $0.hasPrefix("POST") }.count == 1)
  }

  @Test func `register sends an initial access token, and shows neither it nor the server's text`() throws {
    let response = #"{"error": "invalid_client_metadata", "error_description": "init1al \u001b"}"#
    let server = try server(MetadataServer.response(response, status: "400 Bad Request"))
    try scratch.write("initial", "init1al\n", mode: 0o600)
    let run = try register(server, "--initial-token", "\(scratch.path)/initial")
    #expect(run.status == 1)
    #expect(server.received.contains("Authorization: Bearer init1al\r\n"))
    #expect(run.errors.contains("invalid_client_metadata") && !run.text.contains("init1al"))
    #expect(!FileManager.default.fileExists(atPath: secrets), "nothing is left")
  }

  @Test func `register asks for an initial access token if the server refuses a registration without one`() throws {
    let server = try server(MetadataServer.response("", status: "401 Unauthorized"))
    let run = try register(server)
    #expect(run.status == 1)
    #expect(run.errors.contains("--initial-token"))
  }

  @Test(arguments: [#"{"client_secret": "\#(secret)"}"#, #"{"client_id": "a\u001bb", "client_secret": "\#(secret)"}"#])
  func `register keeps a response that it cannot use`(body: String) throws {
    let server = try server(MetadataServer.response(body, status: "201 Created"))
    let run = try register(server)
    #expect(run.status == 1)
    let names = try FileManager.default.contentsOfDirectory(atPath: secrets)
    #expect(names.count == 1)
    #expect(names.first.flatMap(content) == body)
    #expect(try names.first.flatMap(mode) == 0o600)
    #expect(names.first.map(run.errors.contains) == true)
  }

  @Test func `register needs a registration endpoint, a valid name and a fitting grant`() throws {
    let server = try MetadataServer(
      scratch,
      [
        "GET /.well-known/oauth-authorization-server": MetadataServer.response(
          MetadataServer.good.replacing("registration_endpoint", with: "other"))
      ])
    #expect(try register(server).status == 1)
    #expect(try register(server, "--grant", "password").status == 2)
    #expect(try register(server, "--client-auth", "private_key_jwt").status == 2)
    #expect(try register(server, "--scope", "a b").status == 2)
    #expect(try register(server, "--name", "../x").status == 2)
  }
}
