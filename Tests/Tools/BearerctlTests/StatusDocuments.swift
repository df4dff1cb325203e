/// Responses of a daemon to `status`, in the format of `StatusReport`.
enum StatusDocuments {
  /// - Parameters:
  ///   - second: Seconds since the first response.
  ///   - requests: Number of requests to the service `github`.
  static func response(
    second: Int = 0, requests: Int = 1_234, services: Int = 2, problem: String? = nil, isSuspended: Bool = false,
    isSpent: Bool = false, requiresHTTP1: Bool = false, isUnrecorded: Bool = false, hasTokens: Bool = false
  ) -> String {
    let now = 1_800_000_000 + second
    let more = (1..<max(1, services)).map { number in
      """
      ,{"name":"service-\(number)","at":"/service-\(number)/","listener":"main","upstream":"http://127.0.0.1:90\(number)",
      "pins":0,"pin_mode":"enforce","requests":0,"refusals":0,"retries":0,"last_status":null,"last_success":null,
      "last_failure":null,"response_head":[0,0,0,0],"rates":[]}
      """
    }.joined()
    let reload = problem.map { ",\"last_reload\":{\"at\":\(now - 180),\"problem\":\"\($0)\"}" } ?? ""
    let suspended = isSuspended ? "{\"upstream\":\"https://api.github.com\",\"rejections\":5,\"seconds\":43}" : ""
    let spent =
      isSpent
      ? """
      {"rate":"600/m","rule":null,"callers":[{"uid":1000,"client":null,"left":17,"milliseconds":0}]},
      {"rate":"20/m","rule":2,"callers":[{"uid":1000,"client":null,"left":0,"milliseconds":2001},
      {"uid":1001,"client":"ci","left":0,"milliseconds":61000}]}
      """ : ""
    let audit =
      isUnrecorded
      ? "\"audit\":{\"file\":\"/var/log/bearerd/audit.log\",\"device\":1,\"inode\":2,\"records\":1240,\"head\":\"\(String(repeating: "A", count: 43))\",\"dropped\":7,\"problem\":\"write: No space left on device\",\"refusing\":\"write: No space left on device\"},"
      : ""
    let tokens = hasTokens ? Self.tokens(now) : ""
    return """
      ok
      {"version":"0.1.0","now":\(now),"milliseconds":\(5_000_000 + second * 1_000),"started":\(1_800_000_000 - 8_000),"workers":1,
      "configuration":{"file":"/etc/bearerd/bearerd.yaml","generation":3,"loaded":\(1_800_000_000 - 720)\(reload)},
      "process":{"resident_bytes":17825792,"open_files":31,"most_files":1024,"log_lines_dropped":0},
      \(audit)"connections":3,"listeners":[{"name":"main","addresses":["localhost:7070"],"accepted":57}],
      "bounds":[1000,10000,100000],
      "services":[{"name":"github","at":"/github/","listener":"main","upstream":"https://api.github.com",
      "http_version":"\(requiresHTTP1 ? "1.1" : "2")","http_cause":"\(requiresHTTP1 ? "required" : "selected")","pins":2,
      "pin_mode":"enforce","requests":\(requests),"refusals":3,"retries":1,"last_status":200,"last_success":\(now - 2),
      "last_failure":\(now - 90),"response_head":[\(requests / 2),\(requests - requests / 2),0,0],
      "rates":[\(spent)]}\(more)],
      "credentials":[{"name":"github","available":true,"problem":null,"generation":2,"changed":\(now - 240),
      "fingerprint":"9f3a01c2","sources":[{"source":"file /etc/bearerd/github.token","modified":\(now - 241)}],
      "accepted":1200,"rejected":1,"last_accepted":\(now - 2),"last_rejected":\(now - 300),"suspended":[\(suspended)]},
      {"name":"spare","available":false,"problem":"/etc/bearerd/spare.token does not exist","generation":0,"changed":null,
      "fingerprint":null,"sources":[{"source":"systemd credential spare"}],"accepted":0,"rejected":0,
      "last_accepted":null,"last_rejected":null,"suspended":[]}\(tokens)],
      "pools":[{"upstream":"https://api.github.com","credential":"github","http_version":"1.1","idle":2,"active":0,"streams":null},
      {"upstream":"https://api.github.com","credential":"github","http_version":"2","idle":0,"active":1,"streams":7}],
      "unplaced":4,"recent_refusals":[{"at":\(now - 12),"code":"pin-mismatch","service":"github"},
      {"at":\(now - 4000),"code":"no-service","service":null}]}
      """
  }

  /// Returns four credentials: in use after a failed renewal, with an expired login, and two that are logged out.
  private static func tokens(_ now: Int) -> String {
    func credential(_ name: String, _ kind: String, _ more: String) -> String {
      """
      ,{"name":"\(name)","kind":"\(kind)","sources":[{"source":"token endpoint https://login.example.com/token"}],
      "accepted":0,"rejected":0,"last_accepted":null,"last_rejected":null,"suspended":[],\(more)}
      """
    }
    let gone = "\"generation\":1,\"changed\":null,\"fingerprint\":null,\"available\":false"
    let failure =
      "\"last_failed\":\(now - 900),\"last_failure\":\"https://login.example.com/token responded with 503: bearerd tries again\""
    return credential(
      "mail", "oauth2 client_credentials",
      """
      "available":true,"logged_out":false,"problem":null,"generation":3,"changed":\(now - 60),"fingerprint":"01020304",
      "token":{"seconds_left":3000,"login_required":false,"last_granted":\(now - 60),\(failure),
      "failures_in_a_row":2,"next_attempt_in":8}
      """)
      + credential(
        "calendar", "oauth2 refresh_token",
        """
        \(gone),"logged_out":false,"problem":"https://login.example.com said invalid_grant: log in again",
        "token":{"seconds_left":null,"login_required":true,"last_granted":null,"last_failed":\(now - 5),
        "last_failure":"https://login.example.com said invalid_grant: log in again"}
        """)
      + credential(
        "drive", "oauth2 refresh_token",
        """
        \(gone),"logged_out":true,"problem":"it was logged out","token":{"seconds_left":null,"login_required":true}
        """)
      + credential("wiki", "basic", "\(gone),\"logged_out\":true,\"problem\":\"it was logged out\"")
  }
}
