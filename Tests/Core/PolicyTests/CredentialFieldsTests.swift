import Policy
import Testing

@Suite struct CredentialFieldsTests {
  static let credentials = [
    "Authorization", "AUTHORIZATION", "authorization", "Proxy-Authorization", "proxy_authorization", "Cookie",
    "X-Api-Key", "X_Api_Key",
    "x-api_key", "Api-Key", "api_key", "ApiKey", "X-Auth-Token", "X-Access-Token", "Private-Token", "PRIVATE_TOKEN",
    "Job-Token", "Deploy-Token",
    "X-Gitlab-Token", "X-Goog-Api-Key", "Ocp-Apim-Subscription-Key", "X-Vault-Token", "X-Amz-Security-Token",
    "DD-API-KEY",
    "DD-APPLICATION-KEY", "CF-Access-Client-Secret", "X-Auth-Key", "X-Shopify-Storefront-Access-Token",
  ]
  static let impersonations = [
    "Sudo", "SUDO", "Impersonate-User", "Impersonate_User", "Impersonate-Group", "Impersonate-Uid",
    "Impersonate-Extra-Scopes", "X-Impersonate-User",
    "X-Forwarded-User", "X-Forwarded-For", "X_Forwarded_Proto", "Forwarded", "X-Remote-User", "X-Remote-Group",
    "X-HTTP-Method-Override", "X-HTTP-Method",
    "X-Method-Override", "X-Original-URL", "X-Rewrite-URL", "X-Goog-User-Project", "OpenAI-Organization", "X-Real-IP",
  ]
  static let ordinary = [
    "", "-", "_", "Accept", "Accept-Encoding", "User-Agent", "Content-Type", "Content-Length", "X-Request-Id", "Host",
    "Range", "If-None-Match",
    "Authorizatio", "Authorizations", "XAuthorization", "X-Api-Keys", "Cookies", "cooki", "coo", "Author",
    "X-GitHub-Api-Version", "X-Forwarded", "Impersonate",
    "Sudoku", "Forwarde", "X-CSRF-Token", "Idempotency-Key", "Last-Event-ID", "Sec-Fetch-Site", "traceparent",
    "Autho\u{1}ization", "-uthorization", String(repeating: "a", count: 5000),
  ]

  @Test func fields() {
    for (names, isCredential, isImpersonation) in [
      (Self.credentials, true, false), (Self.impersonations, false, true), (Self.ordinary, false, false),
    ] {
      for name in names {
        let line = Array("X: y\r\n\(name): value".utf8)
        let range = 6..<6 + name.utf8.count
        #expect(CredentialFields.isCredentialLike(name: line, range: range) == isCredential, "\(name)")
        #expect(CredentialFields.isImpersonation(name: line, range: range) == isImpersonation, "\(name)")
      }
    }
  }

  @Test func parameters() {
    for (name, isOne) in [
      ("access_token", true), ("ACCESS_TOKEN", true), ("access-token", true), ("api_key", true), ("apikey", true),
      ("apiKey", true), ("private_token", true), ("sudo", true),
      ("_method", true), ("key", false), ("token", false), ("", false), ("access", false), ("access_tokens", false),
      ("xaccess_token", false), ("q", false), ("method", false),
    ] {
      #expect(CredentialFields.isCredentialParameter(decodedName: Array(name.utf8)) == isOne, "\(name)")
    }
  }
}
