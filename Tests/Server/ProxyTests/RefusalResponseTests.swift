import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// Every error response of bearerd that a test can provoke: status, type and Proxy-Status.
/// None contains text of the request or the upstream. Each row has one fault.
@Suite(.inProcess) struct RefusalResponseTests {
  private struct Row: CustomStringConvertible {
    var status: Int
    var code: String
    /// The error of RFC 9209 section 2.3.
    var error: String
    /// `HOST` is replaced by the listener's authority.
    var request = "GET /api/x HTTP/1.1\r\nHost: HOST\r\n\r\n"
    /// The upstream's response, or `nil` if it closes the connection.
    var response: String? = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    /// Number of requests that reach the upstream.
    var sent = 0
    var service = ""
    var more = ""
    var change: (Stage, String) throws -> String = { $1 }
    var description: String { "\(code)" }
  }

  private func check(_ row: Row) throws {
    let response = row.response
    let stage = try Stage { connection in
      while (try? connection.readRequest()) != nil {
        guard let response, (try? connection.write(Array(response.utf8))) != nil else { return }
      }
    }
    try stage.start(row.change(stage, stage.configuration(service: row.service, more: row.more)))
    try stage.request(row.request).assertErrorResponse(row.status, row.code, row.error)
    #expect(stage.log.wait(for: .request, ["refused": "\(row.code)"]), "\(row)")
    stage.assertCanary(times: row.sent)
  }

  @Test func `T48: a request that was refused early is logged without a credential`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(service: "on_client_header: reject"))
    for fields in ["Authorization: Bearer x\r\n", "Connection: authorization\r\n"] {
      #expect(try stage.request(Self.get("/api/x", fields)).status == 400)
    }
    for code in ["client-credential-field", "reserved-field-in-connection"] {
      #expect(stage.log.wait(for: .request, ["refused": "\(code)"]))
      let line = stage.log.lines(of: .request, ["refused": "\(code)"]).first
      #expect(line?.fields.contains { $0.name.hasPrefix("credential") } == false, "\(code)")
    }
    stage.assertCanary(times: 0)
  }

  private static func get(_ target: String = "/api/x", _ fields: String = "") -> String {
    "GET \(target) HTTP/1.1\r\nHost: HOST\r\n\(fields)\r\n"
  }

  @Test func `T48: an invalid request gets the error response of the table`() throws {
    let error = "http_request_error"
    let long = String(repeating: "x", count: 70_000)
    for row in [
      Row(status: 400, code: "malformed-request", error: error, request: "MARK\r\n\r\n"),
      Row(status: 400, code: "malformed-request", error: error, request: "GET /api/x HTTP/1.1\r\n\r\n"),
      Row(status: 414, code: "target-too-long", error: error, request: Self.get("/api/" + long.prefix(20_000))),
      Row(status: 431, code: "head-too-large", error: error, request: Self.get("/api/x", "X-Mark: \(long)\r\n")),
      Row(
        status: 431, code: "head-too-large", error: error,
        request: Self.get("/api/x", String(repeating: "X: y\r\n", count: 200))),
      Row(
        status: 505, code: "version-not-supported", error: error, request: "GET /api/x HTTP/2.0\r\nHost: HOST\r\n\r\n"),
      Row(
        status: 501, code: "unknown-transfer-coding", error: error,
        request: Self.get("/api/x", "Transfer-Encoding: gzip, chunked\r\n")),
      Row(
        status: 417, code: "unknown-expectation", error: error, request: Self.get("/api/x", "Expect: MARK\r\n")),
      Row(
        status: 400, code: "reserved-field-in-connection", error: error,
        request: Self.get("/api/x", "Connection: Authorization\r\n")),
      Row(status: 400, code: "dot-segment", error: error, request: Self.get("/api/../MARK")),
      Row(status: 400, code: "forbidden-character", error: error, request: Self.get("/api/MARK\\x")),
      Row(status: 400, code: "bad-escape", error: error, request: Self.get("/api/MARK%zz")),
    ] { try check(row) }
  }

  @Test func `T48: a request that the policy refuses gets the error response of the table`() throws {
    let denied = "http_request_denied"
    for row in [
      Row(
        status: 421, code: "host-not-allowed", error: denied, request: "GET /api/x HTTP/1.1\r\nHost: mark.test\r\n\r\n"),
      Row(status: 421, code: "authority-mismatch", error: denied, request: Self.get("http://mark.test/api/x")),
      Row(
        status: 403, code: "origin-not-allowed", error: denied, request: Self.get("/api/x", "Origin: https://MARK\r\n")),
      Row(status: 403, code: "cross-site", error: denied, request: Self.get("/api/x", "Sec-Fetch-Site: MARK\r\n")),
      Row(
        status: 403, code: "site-unknown", error: denied,
        request:
          "GET /api/x HTTP/1.1\r\nHost: named.test:7\r\nUser-Agent: Mozilla/MARK\r\nAccept-Language: MARK\r\n\r\n",
        change: { $1.replacing("allow_users:", with: "hosts: [\"named.test:7\"]\n    allow_users:") }),
      Row(
        status: 405, code: "method-not-supported", error: denied, request: "TRACE /api/x HTTP/1.1\r\nHost: HOST\r\n\r\n"
      ),
      Row(status: 404, code: "no-service", error: denied, request: Self.get("/MARK/x")),
      Row(status: 403, code: "no-rule", error: denied, service: "rules: [{ match: /y }]"),
      Row(
        status: 403, code: "denied", error: denied,
        service: "rules: [{ match: /x, deny: true, description: MARK }, { match: \"/**\" }]"),
      Row(
        status: 400, code: "ambiguous-path", error: denied, request: Self.get("/api/a%2fb"),
        service: "rules: [{ match: /a/b, deny: true }, { match: \"/**\" }]"),
      Row(
        status: 400, code: "client-credential-field", error: denied,
        request: Self.get("/api/x", "Authorization: MARK\r\n"), service: "on_client_header: reject"),
      Row(status: 403, code: "caller-not-allowed", error: denied, service: "allow_users: [12345]"),
      Row(
        status: 403, code: "client-unknown", error: denied, request: Self.get("/api/x", "X-Api-Key: MARK\r\n"),
        change: { $1.replacing("allow_users:", with: "clients: { ci: \(ClientTokens.ci.digest) }\n    allow_users:") }),
      Row(
        status: 403, code: "client-not-allowed", error: denied,
        request: Self.get("/api/x", "X-Api-Key: \(ClientTokens.dev.text)\r\n"), service: "allow_clients: [ci]",
        change: { $1.replacing("allow_users:", with: "clients: \(ClientTokens.both)\n    allow_users:") }),
      Row(
        status: 403, code: "caller-not-allowed", error: denied,
        change: { $1.replacing("allow_users: [\(getuid())]", with: "allow_users: [12345]") }),
    ] { try check(row) }
  }

  @Test func `T48: a failed credential or upstream leads to the error response of the table`() throws {
    for row in [
      Row(
        status: 503, code: "credential-unavailable", error: "proxy_configuration_error",
        change: { $1.replacing("canary.token", with: "missing.token") }),
      Row(
        status: 502, code: "connection-refused", error: "connection_refused",
        change: { stage, text in text.replacing("localhost:\(stage.upstream.port)", with: "localhost:1") }),
      Row(
        status: 502, code: "tls-handshake-failed", error: "tls_protocol_error",
        change: { stage, text in
          let plain = try UpstreamServer(chain: [], options: .plain) { connection in
            _ = try? connection.read()
            try? connection.write(Array("MARK MARK MARK MARK\r\n\r\n".utf8))
          }
          return text.replacing("localhost:\(stage.upstream.port)", with: "localhost:\(plain.port)")
        }),
      Row(
        status: 502, code: "pin-mismatch", error: "tls_certificate_error",
        change: { stage, text in
          let other = [try Stage.leaf(issuer: stage.ca).pin, stage.backup.pin]
          return stage.configuration(pins: other)
        }),
      Row(
        status: 502, code: "hostname-mismatch", error: "tls_certificate_error",
        change: { stage, text in
          try stage.upstream.replaceCertificates([try Stage.leaf(issuer: stage.ca, names: ["mark.test"], addresses: [])]
          )
          return text
        }),
      Row(
        status: 502, code: "certificate-revoked", error: "tls_certificate_error",
        service: "revocation: { crl_file: ca.crl }",
        change: { stage, text in
          var options = Certificate.ListOptions()
          options.revoked = [stage.leaf]
          try stage.scratch.write("ca.crl", stage.ca.revocationListPEM(options))
          return text
        }),
      Row(
        status: 502, code: "revocation-unknown", error: "tls_certificate_error",
        service: "revocation: { crl_file: ca.crl }",
        change: { stage, text in
          try stage.scratch.write("ca.crl", stage.backup.revocationListPEM())
          return text
        }),
      Row(
        status: 502, code: "staple-missing", error: "tls_certificate_error",
        service: "revocation: { stapling: require }"),
      Row(
        status: 502, code: "certificate-invalid", error: "tls_certificate_error",
        change: { stage, text in
          try stage.scratch.write("ca.pem", stage.backup.pem)
          return text
        }),
    ] { try check(row) }
  }

  @Test func `T48: a response that cannot be forwarded leads to the error response of the table`() throws {
    for row in [
      Row(status: 502, code: "upstream-closed", error: "connection_terminated", response: nil, sent: 1),
      Row(status: 502, code: "upstream-malformed", error: "http_protocol_error", response: "MARK\r\n\r\n", sent: 1),
      Row(
        status: 502, code: "upstream-malformed", error: "http_protocol_error",
        response: "HTTP/1.1 200 MARK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nMA", sent: 1),
      Row(
        status: 502, code: "credential-rejected", error: "proxy_configuration_error",
        response: "HTTP/1.1 401 MARK\r\nContent-Length: 4\r\nWWW-Authenticate: MARK\r\n\r\nMARK", sent: 1,
        service: "on_rejected: \"502\""),
      Row(
        status: 502, code: "unrequested-upgrade", error: "http_protocol_error",
        response: "HTTP/1.1 101 MARK\r\nUpgrade: MARK\r\nConnection: upgrade\r\n\r\n", sent: 1),
      Row(
        status: 502, code: "redirect-to-self", error: "proxy_loop_detected",
        response: "HTTP/1.1 302 MARK\r\nLocation: http://localhost:7979/MARK\r\nContent-Length: 0\r\n\r\n", sent: 1,
        change: {
          $1.replacing(
            "allow_users: [\(getuid())]", with: "allow_users: [\(getuid())]\n    hosts: [\"localhost:7979\"]")
        }),
    ] { try check(row) }
  }
}
