/// Requests from web pages, and requests with methods such as TRACE and CONNECT (T2, T3, T18).
enum PageRows {
  static let all = pages + sockets + methods

  private static let refused = AttackRow.Expectation.refused([403], codes: ["origin-not-allowed", "cross-site"])

  private static let pages: [AttackRow] =
    [
      "Origin: https://evil.test", "Origin: null", "Origin:", "Origin: http://{host}", "oRIGIN: http://localhost",
      "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: NONE",
      "Sec-Fetch-Site:", "Sec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site",
      "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Site: none", "Origin: https://evil.test\r\nSec-Fetch-Site: none",
      "Origin: https://evil.test\r\nContent-Type: text/plain",
      "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors",
    ].map { .fields(2, $0, refused) }
    + ["GET", "POST", "PUT", "OPTIONS", "DELETE", "HEAD"].map { method in
      AttackRow(
        2, "\(method) from a web page",
        """
        \(method) {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: https://evil.test\r\nAccess-Control-Request-Method: PUT\r
        Content-Length: 0\r\nConnection: close\r\n\r\n
        """, refused)
    }

  private static let sockets: [AttackRow] = ["Origin: https://evil.test", "Origin: null", "Sec-Fetch-Site: cross-site"]
    .map { field in
      AttackRow(
        3, "a WebSocket with \(field)",
        """
        {method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\(field)\r
        Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n
        """, refused)
    }

  private static let methods: [AttackRow] =
    ["TRACE", "TRACK", "trace", "Trace", "Track"].map { method in
      AttackRow.target(18, "{path}", .refused([405], codes: ["method-not-supported"]), method: method)
    } + [
      .target(18, "{host}", .refused([405], codes: ["method-not-supported"]), .ports, method: "CONNECT"),
      AttackRow(
        18, "CONNECT evil.test:443", "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n", .refused([405])),
    ]
    + ["X-HTTP-Method-Override", "X-HTTP-Method", "X_Method_Override"].map {
      .fields(18, "\($0): THEIRS", .passed(without: ["THEIRS"]), .name($0))
    }
}
