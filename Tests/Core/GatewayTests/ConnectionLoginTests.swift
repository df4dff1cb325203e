import Policy
import Testing

@testable import Gateway

/// NTLM and Negotiate authenticate a connection, not a request.
@Suite struct ConnectionLoginTests {
  /// Returns the actions for the upstream connection, after a request and a response with these fields.
  private func end(
    _ request: String, _ response: String = "", credential: CredentialChoice = .pass, dedicates: Bool = false,
    status: String = "200 OK"
  ) throws -> [String] {
    let snapshot = try snapshot(credential: credential) { $0.options.dedicatedConnections = dedicates }
    return exchange(
      get(request.isEmpty ? "X: y" : request), ok(response.isEmpty ? "X: y" : response, status: status, body: "x"),
      snapshot
    ).log
  }

  @Test(arguments: [
    ("Authorization: NTLM TlRMTVNTUAAB", ""), ("Authorization: nTlM", ""), ("Authorization: Negotiate\tYII=", ""),
    ("", "WWW-Authenticate: NTLM"), ("", "WWW-Authenticate: Basic realm=\"x\", negotiate"),
    ("", "WWW-Authenticate: Negotiate YII="), ("", "WWW-Authenticate: Basic realm=\"unterminated"),
  ])
  func `T25: an upstream connection with an NTLM or Negotiate login is not shared`(
    _ request: String, _ response: String
  )
    throws
  {
    for status in ["401 Unauthorized", "200 OK"] {
      for credential in [CredentialChoice.pass, .none, .inject(0)] {
        #expect(try end(request, response, credential: credential, status: status) == ["open", "drop", "record"])
        let dedicated = try end(request, response, credential: credential, dedicates: true, status: status)
        #expect(
          dedicated == (credential == .pass ? ["open", "dedicate", "release", "record"] : ["open", "drop", "record"]))
      }
    }
  }

  @Test(arguments: [
    ("Authorization: Bearer NTLM", ""), ("Authorization: NTLMv2 x", ""), ("X-Authorization: NTLM x", ""),
    ("", "WWW-Authenticate: Basic realm=\"NTLM\""), ("", "WWW-Authenticate: Digest realm=\"r\", nonce=\"Negotiate\""),
    ("", "X-Authenticate: NTLM"),
  ])
  func `upstream connections without an NTLM or Negotiate login return to the pool`(
    _ request: String, _ response: String
  )
    throws
  {
    for dedicates in [false, true] {
      #expect(try end(request, response, dedicates: dedicates) == ["open", "release", "record"])
    }
  }

  @Test func `a connection login does not affect the next exchange`() throws {
    var conversation = exchange(get("Authorization: NTLM x"), ok(), try snapshot(credential: .pass))
    conversation.client(get())
    conversation.upstream(ok())
    #expect(conversation.log == ["open", "drop", "record", "open", "release", "record"])
  }
}
