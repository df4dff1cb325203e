/// Requests that try to choose the credential, the account or the method by a field or parameter.
enum FieldRows {
  static let all = own + others + trailers + nominated + accounts + parameters + methods + subprotocols

  private static let removed = AttackRow.Expectation.passed(without: ["theirs"])

  /// Requests with the credential's field in many spellings, which must not reach the upstream.
  private static let own: [AttackRow] =
    [
      "{field}: theirs", "{field, lower case}: theirs", "{field, upper case}: theirs", "{field}:\ttheirs",
      "{field}:theirs",
      "{field}: theirs\r\n{field, lower case}: theirs", "{field}:", "{field, with _}: theirs",
      "{field, with .}: theirs",
    ].map { .fields(14, $0, removed, .ownField) }
    + [
      "{field} : theirs", "{field}\t: theirs", " {field}: theirs", "X-Fold: x\r\n {field}: theirs",
      "X-Fold: x\r\n\t{field}: theirs", "{field}\u{0}: theirs", "{field}: theirs\u{0}", "{field}: theirs\rX: y",
      "{field}\u{A0}: theirs", "{field}\u{F6}: theirs", "({field}): theirs", ": theirs",
    ].map { .fields(14, $0, .refused([400]), .ownField) }

  private static let others: [AttackRow] = [
    "Authorization", "Proxy-Authorization", "X-Api-Key", "X_Api_Key", "x_api-KEY", "Private-Token", "X-Auth-Token",
    "X_AUTH_TOKEN", "X.Api.Key", "X~Api~Key", "X!Api!Key", "DPoP", "X-Sentry-Auth",
  ].map { .fields(14, "\($0): theirs", removed, .name($0)) }

  private static let trailers: [AttackRow] = [
    "Authorization", "authorization", "X_Api_Key", "Cookie", "Host", "Content-Length", "X-Forwarded-For",
  ].map { name in
    .fields(
      14, "Transfer-Encoding: chunked\r\nTrailer: \(name)",
      body: "1\r\na\r\n0\r\n\(name): theirs\r\nX-Fine: yes\r\n\r\n",
      .harmless(without: ["theirs"]))
  }

  /// Requests in which `Connection` lists a field that must not be removed.
  private static let nominated: [AttackRow] =
    ["{field}", "{field, lower case}", "keep-alive,{field} , x"].map { connection($0, .refused([400]), .ownField) }
    + [
      "Authorization", "authorization", "X-Api-Key", "Host", "Cookie", "Transfer-Encoding", "Content-Length",
      "X-Api-Key, Host, Cookie, Transfer-Encoding", "keep-alive,Host , x",
    ].map { connection($0, .harmless(without: []), .credentials) }

  private static func connection(
    _ names: String, _ expectation: AttackRow.Expectation, _ concern: AttackRow.Scope
  ) -> AttackRow {
    AttackRow(
      15, "Connection: close, \(names)",
      "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close, \(names)\r\n\r\n", expectation, concern)
  }

  private static let accounts: [AttackRow] = [
    "Sudo", "X-Sudo", "Impersonate-User", "Impersonate-Group", "Impersonate_Group", "X-Impersonate-User",
    "Impersonate.User", "X.Forwarded.User", "X~Remote~User", "X-Redmine-Switch-User", "As-User", "Stripe-Account",
    "X-Goog-User-Project", "Dropbox-API-Select-User", "X-Scope-OrgID", "Remote-User", "Remote_User", "X-Remote-User",
    "X-Forwarded-User", "X-WebAuth-User", "X-Auth-Request-Email", "X-Real-IP", "X-Original-Url",
  ].map { .fields(45, "\($0): theirs", removed, .name($0)) }

  private static let parameters: [AttackRow] =
    ["#x", "?q=1#x", "#/../x", "%23#"].map { .target(13, "{path}\($0)", .refused([400]), .credentials) }
    + [
      "access_token", "ACCESS_TOKEN", "acc%65ss_token", "access%5Ftoken", "access.token", "+access_token",
      "access_token[]", "api_key", "api-key", "apikey", "private_token", "auth_token", "sudo", "client_secret",
      "access_key", "$key", "%24key", "doAs", "as_user_id", "userProject", "$userProject",
    ].flatMap { name in
      ["?\(name)=theirs", "?page=2&\(name)=theirs&q=3", "?page=2;\(name)=theirs", "?\(name)=theirs&\(name)=theirs"].map
      {
        .target(13, "{path}\($0)", removed, .name(name))
      }
    }

  /// Requests that override the method with a field or parameter (T18).
  private static let methods: [AttackRow] =
    ["X-HTTP-Method-Override", "X.Http.Method.Override", "X-HTTP-Method", "X-Method-Override"].map {
      .fields(18, "\($0): theirs", removed, .name($0))
    }
    + [
      "_method", "_HttpMethod", "$httpMethod", "%24httpMethod", "$httpHeaders", "x-http-method-override",
      "x_http_method", "method_override", "http-method",
    ].map { .target(18, "{path}?page=2&\($0)=theirs", removed, .name($0)) }

  private static let subprotocols: [AttackRow] = [
    "Sec-WebSocket-Protocol: openai-insecure-api-key.theirs, chat",
    "sec_websocket_protocol: chat,base64url.bearer.authorization.k8s.io.theirs",
  ].map { .fields(14, $0, removed, .name("Sec-WebSocket-Protocol")) }
}
