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
    "X.Api.Key", "x~api~key", "X!Api!Key", "X'Api|Key", "CF.Access.Client.Id", "DPoP", "X-Ms-Authorization-Auxiliary",
    "x-ms-copy-source-authorization", "X-Sentry-Auth", "X-Subject-Token", "X-Service-Token", "X-Storage-Token",
    "X-Hasura-Admin-Secret", "X-Parse-Master-Key", "X-MBX-APIKEY", "X-Typesense-API-Key", "X-Emby-Token",
    "X-License-Key", "X-Query-Key", "X-Cisco-Meraki-API-Key", "X-Shopify-Api-Key", "X-ClickHouse-Key",
  ]
  static let impersonations = [
    "Sudo", "SUDO", "Impersonate-User", "Impersonate_User", "Impersonate-Group", "Impersonate-Uid",
    "Impersonate-Extra-Scopes", "X-Impersonate-User",
    "X-Forwarded-User", "X-Forwarded-For", "X_Forwarded_Proto", "Forwarded", "X-Remote-User", "X-Remote-Group",
    "X-HTTP-Method-Override", "X-HTTP-Method",
    "X-Method-Override", "X-Original-URL", "X-Rewrite-URL", "X-Goog-User-Project", "X-Real-IP",
    "Impersonate.User", "X.Forwarded.User", "X.Http.Method.Override", "X-Redmine-Switch-User", "Api-Username",
    "As-User", "Dropbox-API-Select-User", "Dropbox-API-Select-Admin", "On-Behalf-Of", "Stripe-Account",
    "Stripe-Context", "MSCRMCallerID", "CallerObjectId", "es-security-runas-user",
    "opendistro_security_impersonate_as", "opendistro-security-impersonate-as", "X-Trino-User", "X-Presto-User",
    "X-ClickHouse-User", "X-Scope-OrgID", "X-Grafana-Org-Id", "X-Vault-Namespace", "Remote-Groups", "Remote-Name",
    "Remote-Email", "X-Authentik-Username", "X-Auth-CouchDB-UserName", "X-DocuSign-Act-As-User", "Client-Cert",
    "Client-Cert-Chain", "X-SSL-Client-Verify", "SSL-Client-Cert", "Tailscale-User-Login", "X-Goog-IAP-JWT-Assertion",
    "X-Pomerium-Jwt-Assertion",
  ]
  static let ordinary = [
    "", "-", "_", "Accept", "Accept-Encoding", "User-Agent", "Content-Type", "Content-Length", "X-Request-Id", "Host",
    "Range", "If-None-Match",
    "Authorizatio", "Authorizations", "XAuthorization", "X-Api-Keys", "Cookies", "cooki", "coo", "Author",
    "X-GitHub-Api-Version", "X-Forwarded", "Impersonate",
    "OpenAI-Organization", "OpenAI-Project", "OpenAI-Beta", "Anthropic-Version", "X.Api.Keys", "XaApiaKey", "Proxy",
    "Stripe-Version", "Sec-WebSocket-Protocol",
    "Sudoku", "Forwarde", "X-CSRF-Token", "Idempotency-Key", "Last-Event-ID", "Sec-Fetch-Site", "traceparent",
    "Autho\u{1}ization", "-uthorization", String(repeating: "a", count: 5000),
  ]

  @Test func `fields with a credential or an impersonation are recognized, and ordinary fields are not`() {
    for (names, isCredential, isImpersonation) in [
      (Self.credentials, true, false), (Self.impersonations, false, true), (Self.ordinary, false, false),
    ] {
      for name in names {
        let line = Array("X: y\r\n\(name): value".utf8)
        let range = 6..<6 + name.utf8.count
        #expect(CredentialFields.isCredentialLike(name: line, range: range) == isCredential, "\(name)")
        #expect((CredentialFields.row(name: line, range: range) != nil) == (isCredential || isImpersonation), "\(name)")
      }
    }
  }

  @Test func `every table row is found under its own name only, and has a source`() throws {
    let rows = CredentialFieldTable.rows
    #expect(rows.count <= 255)
    #expect(rows.allSatisfy { $0.name == $0.name.lowercased() && !$0.source.isEmpty })
    var found: [CredentialField] = []
    for row in rows {
      let name = Array(row.name.replacing("*", with: "-x").utf8)
      let field = CredentialFields.row(name: name, range: name.indices)
      if let own =
        ([field, CredentialFields.parameter(decodedName: name)].compactMap(\.self)
        + UnwantedField.allCases.map(CredentialField.init))
        .first(where: { names($0) == row.name && !found.contains($0) })
      {
        found.append(own)
      } else {
        Issue.record("\(row.name) is not found")
      }
    }
  }

  private func names(_ fields: CredentialField...) -> String {
    var names = RemovedNames()
    for field in fields { names.insert(field) }
    return names.description(under: nil)
  }

  @Test func `the log lists removed fields by their table names, each once, and at most 16`() {
    func fields(_ names: [String]) -> RemovedNames {
      var removed = RemovedNames()
      for name in names {
        let bytes = Array(name.utf8)
        if let field = CredentialFields.row(name: bytes, range: bytes.indices) { removed.insert(field) }
      }
      return removed
    }
    #expect(fields([]).isEmpty && fields(["Accept"]).isEmpty)
    #expect(
      fields(["SUDO", "x_api.KEY", "X-Api-Key", "Impersonate-\u{22}x"]).description(under: nil)
        == "x-api-key,impersonate-*,sudo")
    let many = fields(Self.credentials + Self.impersonations)
    let parts = many.description(under: nil).split(separator: ",")
    #expect(parts.count == 17 && parts.last?.first == "+", "\(parts)")
  }

  @Test func `query parameters with a credential are recognized, and ordinary parameters are not`() {
    for (name, isOne) in [
      ("access_token", true), ("ACCESS_TOKEN", true), ("access-token", true), ("api_key", true), ("apikey", true),
      ("apiKey", true), ("private_token", true), ("sudo", true),
      ("_method", true), ("key", false), ("token", false), ("", false), ("access", false), ("access_tokens", false),
      ("xaccess_token", false), ("q", false), ("method", false),
      ("_HttpMethod", true), ("_httpmethod", true), ("$httpMethod", true), ("$httpHeaders", true),
      ("x-http-method", true), ("X-HTTP-Method-Override", true), ("x_http_method_override", true),
      ("method_override", true), ("x-method-override", true), ("http_method", true), ("http-method-override", true),
      ("$userProject", true), ("userProject", true), ("doAs", true), ("as_user_id", true), ("$key", true),
      ("client_secret", true), ("client.secret", true), ("access_key", true), ("httpMethod", false), ("_key", false),
      ("-key", false), ("$method", false), ("!method", false), ("user_id", false), ("user.name", false),
      ("auth", false), ("$filter", false),
    ] {
      #expect((CredentialFields.parameter(decodedName: Array(name.utf8)) != nil) == isOne, "\(name)")
    }
  }
}
