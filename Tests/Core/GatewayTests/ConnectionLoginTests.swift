import Policy
import Testing

@testable import Gateway

/// A connection that was logged in on is nobody else's.
@Suite struct ConnectionLoginTests {
  /// What becomes of the session, of a request with these fields and an answer with those.
  private func end(
    _ request: String, _ answer: String = "", credential: CredentialChoice = .pass, dedicates: Bool = false,
    status: String = "200 OK"
  ) throws -> [String] {
    let snapshot = try snapshot(credential: credential) { $0.dedicatesConnections = dedicates }
    return exchange(
      get(request.isEmpty ? "X: y" : request), ok(answer.isEmpty ? "X: y" : answer, status: status, body: "x"), snapshot
    ).log
  }

  @Test(arguments: [
    ("Authorization: NTLM TlRMTVNTUAAB", ""), ("Authorization: nTlM", ""), ("Authorization: Negotiate\tYII=", ""),
    ("", "WWW-Authenticate: NTLM"), ("", "WWW-Authenticate: Basic realm=\"x\", negotiate"),
    ("", "WWW-Authenticate: Negotiate YII="), ("", "WWW-Authenticate: Basic realm=\"unterminated"),
  ])
  func `T25: one on which a program logs in, or is asked to, serves nobody else`(_ request: String, _ answer: String)
    throws
  {
    for status in ["401 Unauthorized", "200 OK"] {
      for credential in [CredentialChoice.pass, .none, .inject(0)] {
        #expect(try end(request, answer, credential: credential, status: status) == ["open", "drop", "record"])
        let dedicated = try end(request, answer, credential: credential, dedicates: true, status: status)
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
  func `Others are pooled as ever`(_ request: String, _ answer: String) throws {
    for dedicates in [false, true] {
      #expect(try end(request, answer, dedicates: dedicates) == ["open", "release", "record"])
    }
  }

  @Test
  func `The next exchange knows nothing of it`() throws {
    var conversation = exchange(get("Authorization: NTLM x"), ok(), try snapshot(credential: .pass))
    conversation.client(get())
    conversation.upstream(ok())
    #expect(conversation.log == ["open", "drop", "record", "open", "release", "record"])
  }
}
