import Gateway
import HTTP1
import Policy
import TestSupport
import Testing

/// The cost of forwarding one request or response is linear in its size, whatever its content (T60).
@Suite struct CostTests {
  @Test(arguments: requests + responses + bodies)
  func `T60: forwarding takes linear time for every kind of message`(walker: Walker) throws {
    #expect(try walker.complaint() == nil, "\(walker)")
  }

  private static let most = HeadLimits().headBytes

  /// Parts that fill a request head. `part` is repeated between `start` and `end`.
  private static let fields: [(file: String, name: String, start: String, part: String, end: String)] = [
    ("RequestForwarding", "fields", "", "a: b\r\n", ""),
    ("RequestForwarding", "fields like ours", "", "Content_Length: b\r\n", ""),
    ("ConnectionOptions", "options", "", "Connection: a,b,c,d,e\r\n", ""),
    ("ConnectionOptions", "many options", "Connection: ", "a,", "\r\n"),
    ("ConnectionOptions", "codings of a trailer", "TE: ", "a,", "\r\n"),
    ("UpgradeNegotiation", "protocols", "Connection: upgrade\r\nUpgrade: ", "a,", "\r\n"),
    ("WebDAVReferences", "tags", "If: ", "<a>", " (<x>)\r\n"),
    ("WebDAVReferences", "strange tags", "If: ", "<;a%2Fb//c%253Bd>", " (<x>)\r\n"),
    ("WebDAVReferences", "tokens", "If: (", "<a>", ")\r\n"),
    ("WebDAVReferences", "entity tags", "If: (", "[\"a\"]", ")\r\n"),
    ("WebDAVReferences", "open tags", "If: ", "<", "\r\n"),
    ("WebDAVReferences", "open entity tags", "If: (", "[\"", "\r\n"),
    ("WebDAVReferences", "a long tag", "If: <", "a", "> (<x>)\r\n"),
    ("WebDAVReferences", "absolute tags", "If: ", "</api/x;a//b%2Fc>", " (<x>)\r\n"),
    ("CredentialCookie", "cookies", "Cookie: ", "a;", "\r\n"),
    ("CredentialCookie", "its own name", "Cookie: ", "sid ", "\r\n"),
    ("CredentialCookie", "escapes", "Cookie: ", "%73", "\r\n"),
    ("CredentialCookie", "lines", "", "Cookie: a=b; c=d\r\n", ""),
    ("MaxForwards", "digits", "Max-Forwards: ", "1", "\r\n"),
    ("ConnectionLogin", "logins", "", "Authorization: NTLM a\r\n", ""),
    ("Problem", "names of hosts", "X-A: ", "a.test, ", "\r\n"),
    ("CrossOrigin", "preflights", "", "Access-Control-Request-Method: A\r\n", ""),
  ]

  private static let targets: [(file: String, name: String, start: String, part: String)] = [
    ("QueryFilter", "parameters", "/api/x?", "a&"), ("QueryFilter", "escapes", "/api/x?", "%61"),
    ("QueryFilter", "empty parameters", "/api/x?", ";"), ("CanonicalTarget", "deep paths", "/api", "/a"),
    ("Problem", "a long path", "/none/", "a"),
  ]

  static let requests: [Walker] = try! fieldWalkers() + targetWalkers()

  private static func fieldWalkers() throws -> [Walker] {
    let (usual, cookies) = try (snapshot(), cookies())
    return fields.flatMap { field in
      (field.file == "WebDAVReferences" ? ["/api/x", deep] : ["/api/x"]).map { target in
        Walker(field.file, "\(field.name) below \(target.utf8.count) bytes", upTo: most - target.utf8.count - 100) {
          count in
          let head = "PUT \(target) HTTP/1.1\r\nHost: localhost:7070\r\n" + field.start
          let part = repeated(field.part, bytes: count - field.start.utf8.count - field.end.utf8.count)
          let last = field.end.isEmpty ? "X: y\r\n\r\n" : field.end + "\r\n"
          let bytes = Array(head.utf8) + whole(part, of: field.part) + Array(last.utf8)
          return { _ = Played(bytes, field.file == "CredentialCookie" ? cookies : usual) }
        }
      }
    }
  }

  /// The deepest path for which URLs are still checked.
  private static let deep = "/api/" + String(repeating: String(repeating: "x", count: 500) + "/", count: 31)

  private static func targetWalkers() throws -> [Walker] {
    let snapshot = try snapshot()
    return targets.map { target in
      Walker(target.file, target.name, upTo: HeadLimits().targetBytes) { count in
        let bytes =
          Array(("GET " + target.start).utf8) + repeated(target.part, bytes: count - target.start.utf8.count)
          + Array(" HTTP/1.1\r\nHost: localhost:7070\r\n\r\n".utf8)
        return { _ = Played(bytes, snapshot) }
      }
    }
  }

  /// Parts that fill a response head. `part` is repeated between `start` and `end`.
  private static let lines: [(file: String, name: String, start: String, part: String, end: String)] = [
    ("ResponseForwarding", "fields", "", "a: b\r\n", ""),
    ("OriginHeaders", "fields that are stripped", "", "Access-Control-x: b\r\n", ""),
    ("ResponseForwarding", "our own name", "Proxy-Status: ", "a,", "\r\n"),
    ("ReferenceRewriting", "open links", "Link: ", "<", "\r\n"),
    ("ReferenceRewriting", "links", "Link: ", "<a>,", "\r\n"),
    ("ReferenceRewriting", "links with dots", "Link: ", "<..>,", "\r\n"),
    ("ReferenceRewriting", "quotes", "Link: ", "\"\\<", "\r\n"),
    ("ReferenceRewriting", "empty links", "Link: ", "<>", "\r\n"),
    ("ReferenceRewriting", "links that end late", "Link: ", "<", ">\r\n"),
    ("ReferenceRewriting", "lines of links", "", "Link: <./a>, <../b>; rel=next, <a?b>\r\n", ""),
    ("ReferenceRewriting", "a refresh", "Refresh: ", "5;", "\r\n"),
    ("ReferenceRewriting", "a blank refresh", "Refresh: 5;", " ", "x\r\n"),
    ("ReferenceRewriting", "refreshes", "", "Refresh: 5;url=./x\r\n", ""),
    ("RewrittenReference", "strange links", "Link: ", "<./;a%2Fb//c%253Bd>", "\r\n"),
    ("RewrittenReference", "strange paths", "Link: ", "</base/;a%2Fb//c%253Bd>", "\r\n"),
    ("RewrittenReference", "blanks", "Location: a", " ", "a\r\n"),
    ("RewrittenReference", "a long strange path", "Location: /base/;a%2Fb//c%253Bd", "x", "\r\n"),
    ("Reference", "dots", "Location: ", "../", "\r\n"), ("Reference", "ports", "Location: //a", ":1", "\r\n"),
    ("Reference", "users", "Location: //", "a@", "\r\n"), ("Reference", "escapes", "Location: ", "%2e/", "\r\n"),
    ("Reference", "a scheme", "Location: ", "a+", "\r\n"), ("Reference", "slashes", "Location: .", "/", "\r\n"),
    ("Reference", "locations", "", "Location: ./x\r\n", ""),
    ("SelfReferenceCheck", "slashes", "Operation-Location: ", "/", "\r\n"),
    ("SelfReferenceCheck", "colons", "Operation-Location: ", ":", "\r\n"),
    ("SelfReferenceCheck", "schemes", "Operation-Location: ", "http:", "\r\n"),
    ("SelfReferenceCheck", "authorities", "Operation-Location: ", "//a@b,c ", "\r\n"),
    ("SelfReferenceCheck", "users", "Operation-Location: //", "a@", "\r\n"),
    ("SelfReferenceCheck", "escapes", "WWW-Authenticate: Bearer realm=\"", "\\/", "\"\r\n"),
    ("SelfReferenceCheck", "tabs", "Operation-Location: a", "\t/", "a\r\n"),
    ("SelfReferenceCheck", "dots", "Operation-Location: ", "../", "\r\n"),
    ("SelfReferenceCheck", "strange paths", "", "Operation-Location: /in/;a%2Fb//c%253Bd\r\n", ""),
    ("SelfReferenceCheck", "challenges", "", "WWW-Authenticate: Bearer realm=\"https://a.test/\"\r\n", ""),
    ("URLFields", "fields with places", "", "SourceMap: //a\r\n", ""),
    ("CookieRewriting", "blanks in a value", "Set-Cookie: a=b", " path", "\r\n"),
    ("CookieRewriting", "dates", "Set-Cookie: a=b", ";expires=Thu, 01 Jan", "\r\n"),
    ("CookieRewriting", "attributes", "Set-Cookie: a=b;", "c;", "\r\n"),
    ("CookieRewriting", "empty attributes", "Set-Cookie: a=b", ";", "\r\n"),
    ("CookieRewriting", "paths", "Set-Cookie: a=b", ";path=/", "\r\n"),
    ("CookieRewriting", "blanks", "Set-Cookie: a=b;", " \t", "c\r\n"),
    ("CookieRewriting", "cookies", "", "Set-Cookie: a=b; Path=/base/; Secure\r\n", ""),
    ("CredentialCookie", "names that are set", "Set-Cookie: ", "sid ", "\r\n"),
    ("JarCookie", "names", "", "Set-Cookie: sid=b; Path=/base/\r\n", ""),
    ("Challenge", "challenges", "", "WWW-Authenticate: Bearer error=\"insufficient_scope\", Digest a=b\r\n", ""),
    ("CredentialExpiry", "challenges in a line", "WWW-Authenticate: ", "Bearer a=b,", "c\r\n"),
    ("ConnectionLogin", "challenges", "", "WWW-Authenticate: NTLM a, Basic\r\n", ""),
    ("Redaction", "codings", "Content-Encoding: ", "identity,", "\r\n"),
  ]

  static let responses: [Walker] = try! responseWalkers()

  private static func responseWalkers() throws -> [Walker] {
    let (usual, cookies, jar, nested, neighbours) = try (snapshot(), cookies(), jar(), nested(), neighbours())
    return lines.flatMap { line in
      let world =
        switch line.file {
        case "CookieRewriting", "CredentialCookie": cookies
        case "JarCookie": jar
        case "RewrittenReference": nested
        case "SelfReferenceCheck", "URLFields": neighbours
        default: usual
        }
      let targets =
        ["ReferenceRewriting", "RewrittenReference", "SelfReferenceCheck"].contains(line.file)
        ? ["/api/x", deep] : ["/api/x"]
      let isChallenge = (line.start + line.part).contains("WWW-")
      let status = isChallenge ? "401 Unauthorized" : line.name == "open links" ? "103 Early Hints" : "200 OK"
      return targets.map { target in
        Walker(line.file, "\(line.name) below \(target.utf8.count) bytes", upTo: most - 100) { count in
          let part = repeated(line.part, bytes: count - line.start.utf8.count - line.end.utf8.count)
          let last = line.end.isEmpty ? "X: y\r\n\r\n" : line.end + "\r\n"
          let bytes =
            Array("HTTP/1.1 \(status)\r\n\(line.start)".utf8) + whole(part, of: line.part) + Array(last.utf8)
          let request = Array("GET \(target) HTTP/1.1\r\nHost: localhost:7070\r\n\r\n".utf8)
          // The measurement includes the small request.
          return { Played(request, world).receive(bytes) }
        }
      }
    }
  }

  static let bodies: [Walker] = try! bodyWalkers()

  private static func bodyWalkers() throws -> [Walker] {
    let sign = JSONFieldSign(path: ["a", "7"], value: "b")
    let signs = ExpirySigns(more: [ExpirySigns.Sign(status: 403, field: sign)])
    let judged = try snapshot(replayBuffer: 1_024, expiry: signs)
    let texts = ["{\"a\":", "[", "\"\\n", "[1,", "{\"a\":[", "1,", " ", "\\u0061", "{\"a\":[1,2,3,4,5,6,7,8]},"]
    let usual = try snapshot()
    return texts.map { text in
      Walker("JSONField", "a body of \(text)", upTo: 16_384) { count in
        let body =
          Array((text.hasPrefix("\"") || text.hasPrefix("\\") ? "{\"a\":\"" : "{\"a\":[").utf8)
          + repeated(text, bytes: count - 10)
        let bytes = Array("HTTP/1.1 403 No\r\nContent-Length: \(body.count)\r\n\r\n".utf8) + body
        let request = Array(get().utf8)
        return { Played(request, judged).receive(bytes) }
      }
    } + [
      Walker("AuthRetry", "small chunks of an error", upTo: 16_384) { count in
        let bytes =
          Array("HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
          + repeated("1\r\n[\r\n", bytes: count - 50)
        let request = Array(get().utf8)
        return { Played(request, judged).receive(bytes) }
      },
      Walker("AuthRetry", "small chunks of a request", upTo: most) { count in
        let bytes =
          Array("PUT /api/x HTTP/1.1\r\nHost: localhost:7070\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
          + whole(repeated("1\r\na\r\n", bytes: count - 80), of: "1\r\na\r\n")
        return { _ = Played(bytes, judged) }
      },
      Walker("ExchangeResponse", "small chunks of an answer", upTo: most) { count in
        let bytes =
          Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
          + whole(repeated("1\r\na\r\n", bytes: count - 80), of: "1\r\na\r\n")
        let request = Array(get().utf8)
        return { Played(request, usual).receive(bytes) }
      },
      Walker("ExchangeResponse", "interim answers", upTo: most) { count in
        let interim =
          "HTTP/1.1 103 E\r\nLink: " + String(repeating: "<./a>,", count: (count - 1_000) / 32 / 6) + "\r\n\r\n"
        let bytes = Array(String(repeating: interim, count: 32).utf8)
        let request = Array(get().utf8)
        return { Played(request, usual).receive(bytes) }
      },
      Walker("ExchangeRequest", "trailers", upTo: 8_000) { count in
        let bytes =
          Array("PUT /api/x HTTP/1.1\r\nHost: localhost:7070\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n".utf8)
          + whole(repeated("x-a-b: c\r\n", bytes: count), of: "x-a-b: c\r\n") + Array("\r\n".utf8)
        return { _ = Played(bytes, usual) }
      },
      Walker("FormGathering", "small chunks of a form", upTo: 65_536) { count in
        let bytes =
          Array(
            "POST /api/x HTTP/1.1\r\nHost: localhost:7070\r\nContent-Type: application/x-www-form-urlencoded\r\nTransfer-Encoding: chunked\r\n\r\n"
              .utf8) + whole(repeated("1\r\na\r\n", bytes: count - 200), of: "1\r\na\r\n")
        let signing = try forms()
        return { _ = Played(bytes, signing) }
      },
    ]
  }

  // MARK: configurations

  private static func cookies() throws -> Snapshot {
    try snapshot(fields: ["cookie"], cookie: "sid") { $0.options.cookies = .pass }
  }

  private static func jar() throws -> Snapshot { try snapshot { $0.options.cookies = .jar } }

  private static func nested() throws -> Snapshot {
    let lines = try ["/**/never", "/**"].map { pattern in
      Rule(
        pattern: try URLPattern(parsing: pattern), methods: try MethodSet([]),
        action: pattern == "/**" ? .forward(.inject(0)) : .deny, headers: HeaderPolicy(), description: nil, line: 0)
    }
    return try snapshot(more: [service("in", at: "/api/in/", upstream: "https://in.test/")]) {
      $0.rules = lines
    }
  }

  /// A service with the client's own credential, and another service to which a path could lead.
  private static func neighbours() throws -> Snapshot {
    try snapshot(credential: .pass, more: [service("in", at: "/in/", upstream: "https://in.test/")])
  }

  private static func forms() throws -> Snapshot { try snapshot() }

  /// Returns the bytes without an incomplete part at the end.
  private static func whole(_ bytes: [UInt8], of part: String) -> ArraySlice<UInt8> {
    bytes.prefix(bytes.count / part.utf8.count * part.utf8.count)
  }
}

/// Finds nothing.
private final class Searched: Redaction {
  var isWhole: Bool { true }
  func decode(_ coding: ContentCoding) -> Bool { false }
  var count: UInt64 { 0 }
  var steps: Int { 0 }
  func redact(_ text: inout [UInt8]) -> Bool { true }
  func redact(_ piece: Span<UInt8>, changed: inout [UInt8]) -> Range<Int>? { 0..<piece.count }
  func release(to changed: inout [UInt8]) {}
}

/// One exchange whose output is discarded.
private struct Played: ~Copyable {
  private var machine: RequestMachine
  private var output = Output()

  init(_ request: [UInt8], _ snapshot: Snapshot) {
    machine = RequestMachine(limits: snapshot.headLimits)
    machine.begin(Arrival(listener: snapshot.listeners[0], caller: caller), isFirst: true)
    var position = 0
    machine.receivedFromClient(request.span, position: &position, snapshot: snapshot, output: &output)
    if machine.phase == .awaitingUpstream {
      output.begin()
      machine.upstreamReady(isReused: false, request.span, position: &position, output: &output)
    }
  }

  consuming func receive(_ bytes: [UInt8]) {
    var position = 0
    output.begin()
    machine.receivedFromUpstream(bytes.span, position: &position, redaction: Searched(), output: &output)
    machine.relay.exchange.removeJarCookies { _, _ in }
  }
}
