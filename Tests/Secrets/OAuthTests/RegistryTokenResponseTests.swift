@_spi(SecretBytes) import Credentials
@_spi(SecretBytes) import Secrets
import OAuth
import Policy
import Settings
import Testing

/// Responses of a registry's token server.
@Suite struct RegistryTokenResponseTests {
  private let arena = SecretArena()

  private func source() throws -> TokenSource {
    TokenSource(
      credential: "c", endpoint: try Endpoint(parsing: "https://auth.test:5001/v2/token"), grant: .clientCredentials,
      client: TokenClient(id: "", authentication: .none))
  }

  private func read(_ body: String, status: Int = 200) throws -> String {
    let bytes = Array(body.utf8)
    let head = TokenResponseHead(status: status, contentType: "application/json; charset=utf-8")
    switch TokenResponse.read(ofRegistry: head, bytes.span, of: try source(), now: 0, in: arena) {
    case .granted(let grant):
      let token = grant.accessToken.withBytes { String(decoding: $0, as: UTF8.self) }
      return "\(token) \(grant.lifetime.map(String.init) ?? "-")"
    case .refused(let refusal):
      #expect(!refusal.sentence.contains("QZQZ"))
      return refusal.sentence
    }
  }

  @Test
  func `a registry token is read from token or access_token, with its lifetime`() throws {
    #expect(
      try read(#"{"token":"T1","access_token":"T2","expires_in":300,"issued_at":"2026-01-01T00:00:00Z"}"#)
        == "T1 300000")
    #expect(try read(#"{"access_token":"T2","refresh_token":"R"}"#) == "T2 60000")
    #expect(try read(#"{"token":"T1","expires_in":-5}"#) == "T1 0")
  }

  @Test(arguments: [
    #"{"token":""}"#, #"{"token":"a b"}"#, #"{"token":"a\r\nX: y"}"#, #"{"token":7}"#, "{}", "[]", "QZQZ",
    #"{"token":"T1","token":"T2"}"#, #"{"errors":[{"code":"DENIED","message":"QZQZ"}]}"#,
  ])
  func `T43: a registry token that a field cannot carry is refused`(_ body: String) throws {
    #expect(try read(body).hasPrefix("https://auth.test:5001/v2/token responded"))
  }

  @Test
  func `a registry's refusal is reported without the text of the server`() throws {
    let denied = try read(#"{"details":"QZQZ"}"#, status: 401)
    #expect(denied.hasPrefix("https://auth.test:5001/v2/token ") && denied.contains("401"))
    #expect(try read("{}", status: 302).contains("does not follow"))
    #expect(try read("{}", status: 503).contains("503"))
  }
}
