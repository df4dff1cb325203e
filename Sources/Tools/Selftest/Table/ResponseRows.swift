internal import Console

/// Responses with which an upstream attacks callers (T26, T32, T34, T35, T36).
enum ResponseRows {
  static let all = surplus + malformed + repaired + redirects + urlFields + cookies + hygiene + challenges

  private static let evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"

  /// Responses with additional bytes after their end, which must not reach a client.
  private static let surplus: [AttackRow] = [
    contained("a second response", [200], "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" + evil),
    contained("bytes after the response", [200], "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokevil"),
    contained(
      "a second response after chunks", [200],
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n" + evil),
    contained("a body with 204", [204], "HTTP/1.1 204 No Content\r\n\r\n" + evil),
    contained("a body with 304", [304], "HTTP/1.1 304 Not Modified\r\nContent-Length: 44\r\n\r\n" + evil),
  ]

  private static let malformed: [AttackRow] = [
    contained("two lengths", "200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nevil!"),
    contained("a list of two lengths", "200 OK\r\nContent-Length: 4, 5\r\n\r\nevil!"),
    contained(
      "two lengths and chunked",
      "200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + evil),
    contained("a folded length", "200 OK\r\nX: a\r\nContent-Length: 4\r\n 5\r\n\r\nevil"),
    contained("a length with a space in its name", "200 OK\r\nContent Length: 4\r\n\r\nevil"),
    contained(
      "a coding with a byte after its name", "200 OK\r\nTransfer-Encoding\u{B}: chunked\r\n\r\n0\r\n\r\n" + evil),
    contained("a line without a colon", "200 OK\r\nevil\r\nContent-Length: 4\r\n\r\nevil"),
    contained("a zero byte in a name", "200 OK\r\nX\0: a\r\nContent-Length: 4\r\n\r\nevil"),
    contained("a negative length", "200 OK\r\nContent-Length: -4\r\n\r\nevil"),
    contained("a length with a sign", "200 OK\r\nContent-Length: +4\r\n\r\nevil"),
    contained("a length beyond 64 bits", "200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nevil"),
    contained("a coding that was not requested", "200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    contained("a head of 300,000 bytes", "200 OK\r\nX: \(String(repeating: "x", count: 300_000))\r\n\r\n"),
    contained("1,200 fields", "200 OK\r\n\(String(repeating: "X: x\r\n", count: 1_200))\r\n"),
    contained(
      "a switch of protocols", "101 Switching Protocols\r\nUpgrade: evil\r\nConnection: upgrade\r\n\r\n" + evil),
    contained("chunks in HTTP/1.0", [502], "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    contained("no valid response", [502], "evil\r\n\r\n"),
    contained("a line before the response", [502], "\r\n" + evil),
    contained(
      "interim responses without an end", [502], String(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: 1_000)),
  ]

  /// Responses that bearerd repairs, unless the service is strict.
  private static let repaired: [AttackRow] = [
    ("two kinds of length", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ("a length twice", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok"),
    ("a list of equal lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok"),
    ("chunked twice", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"),
    ("a folded field", "HTTP/1.1 200 OK\r\nX: a\r\n Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\nok"),
    ("a space before a colon", "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok"),
    ("an illegal name", "HTTP/1.1 200 OK\r\nX Y: evil\r\nContent-Length: 2\r\n\r\nok"),
    ("bare line feeds", "HTTP/1.1 200 OK\nContent-Length: 2\n\nok"),
    ("a repaired interim response", "HTTP/1.1 103 E\r\nX : y\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
  ].map { name, response in contained(name, [200, 502, 103], response + evil) }

  private static func contained(_ name: String, _ response: String) -> AttackRow {
    contained(name, [502], "HTTP/1.1 \(response)")
  }

  private static func contained(_ name: String, _ statuses: [Int], _ response: String) -> AttackRow {
    .response(26, name, response, .contained(statuses, without: ["evil"]))
  }

  /// Redirects, which bearerd must not follow.
  private static let redirects: [AttackRow] = ["301 Moved", "302 Found", "303 See Other", "307 Again", "308 Moved"]
    .flatMap { status in
      let number = Int(status.prefix(3)) ?? 0
      return [
        "https://{stranger}/x", "http://{stranger}/x", "//{stranger}/x", "/\\{stranger}/x", "\\\\{stranger}/x",
        "https://user@{stranger}/x", "https://sub.{stranger}/x", "https:\\\\{stranger}\\x", "https:{stranger}/x",
        "https://{upstream}@{stranger}/x", "https://sub.{upstream}/x", "http://{upstream}/x",
      ].map { location in
        // bearerd replaces a redirect to its own listener with 502. A subdomain of the upstream's host is another
        // origin, so its `Location` stays unchanged.
        AttackRow.response(
          32, "\(status) to \(location)",
          "HTTP/1.1 \(status)\r\nContent-Length: 0\r\nLocation: \(location)\r\nRefresh: 0; url=\(location)\r\n\r\n",
          .cleaned(
            [number, 502], without: ["//{host}/"],
            with: location == "https://sub.{upstream}/x" ? "Location: \(location)" : nil))
      }
    }

  /// Responses with a URL of bearerd in a field that clients follow automatically.
  private static let urlFields: [AttackRow] =
    // bearerd would otherwise add a credential to the client's next request.
    [
      "Operation-Location: http://{host}/x", "Azure-AsyncOperation: //{host}/x",
      "X-Goog-Upload-URL: http:\\\\{host}\\x", "X-Storage-Url: http://user@{host}/x", "SourceMap: HTTP://{host}/x",
      "Location: http://{host}/x", "Link: <http://{host}/x>; rel=next",
    ].map { line in named(line, [502]) }
    + [
      // If bearerd adds a credential, it removes the challenge instead.
      "WWW-Authenticate: Bearer realm=\"http://{host}/token\",service=\"registry\"",
      "WWW-Authenticate: Bearer resource_metadata=http://{host}/x",
    ].map { line in named(line, [200, 502]) }

  private static func named(_ line: String, _ statuses: [Int]) -> AttackRow {
    .response(
      32, line.harmless, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\(line)\r\n\r\n",
      .cleaned(statuses, without: ["{host}/x", "{host}\\x", "{host}/token"]), .ports)
  }

  /// Responses that set a cookie, which must be limited to its service.
  private static let cookies: [AttackRow] = [
    "Path =/; HttpOnly", "Domain =localhost; Path\t=\t/", "Path={mount}; Domain=localhost; domain\t=localhost",
    "Path={mount}; PATH =/; Secure =; SameSite =None",
  ].map { attributes in
    AttackRow.response(
      34, "Set-Cookie: a=b; \(attributes)".harmless,
      "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie: a=b; \(attributes)\r\nX-Harmless: stays\r\n\r\n",
      .cleaned([200], without: ["path =", "path\t", "domain", "secure", "samesite"], with: "X-Harmless: stays"))
  }

  /// Responses that reject the credential, whose challenges bearerd must remove.
  private static let challenges: [AttackRow] = [
    ("401 Unauthorized", "WWW-Authenticate: Basic realm=\"theirs\"\r\nWWW-Authenticate: Negotiate"),
    ("407 Proxy", "Proxy-Authenticate: Basic realm=\"theirs\""),
  ].map { status, fields in
    AttackRow.response(
      36, status, "HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\(fields)\r\n\r\n",
      .cleaned([401, 407, 502], without: ["theirs", "negotiate", "basic"]), .credentials)
  }

  /// Responses with fields that would affect all of localhost in a browser.
  private static let hygiene: [AttackRow] = [
    "Strict-Transport-Security", "Alt-Svc", "Clear-Site-Data", "Service-Worker-Allowed", "Public-Key-Pins", "NEL",
    "Report-To", "Reporting-Endpoints", "Access-Control-Allow-Origin", "access-control-allow-credentials",
    "Access_Control_Allow_Origin", "Accept-CH", "Critical-CH", "Origin-Agent-Cluster", "Set-Login", "Use-As-Dictionary",
    "Secure-Session-Registration", "Sec-Session-Registration", "Speculation-Rules", "Shared-Storage-Write",
  ].map { name in
    AttackRow.response(
      35, name, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\(name): theirs\r\nX-Harmless: stays\r\n\r\n",
      .cleaned([200], without: ["theirs", "\(name):"], with: "X-Harmless: stays"))
  }
}
