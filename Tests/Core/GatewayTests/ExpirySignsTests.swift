@testable import Gateway
import HTTP1
import Policy
import Testing

/// `refresh_on`: which responses mean that a credential has expired.
@Suite struct ExpirySignsTests {
  private static let more = ExpirySigns(more: [
    ExpirySigns.Sign(status: 419),
    ExpirySigns.Sign(status: 403, field: JSONFieldSign(path: ["error", "code"], value: "credentials_expired")),
  ])
  private static let expired = "{\"error\":{\"code\":\"credentials_expired\"}}"

  private func play(
    _ status: String, _ fields: String = "X-A: 1", body: String = "no", signs: ExpirySigns = more,
    request: String = get()
  ) throws -> Conversation {
    exchange(
      request, ok(fields, status: status, body: body),
      try snapshot(replayBuffer: 16, expiry: signs) { $0.options.redact = .headers })
  }

  @Test(arguments: [
    ("419 X", "X-A: 1", "no", true), ("418 X", "X-A: 1", "no", false), ("401 X", "X-A: 1", "no", true),
    ("401 X", "WWW-Authenticate: Basic realm=a", "no", false), ("403 X", "X-A: 1", expired, true),
    ("403 X", "X-A: 1", "{\"error\":{\"code\":\"forbidden\"}}", false), ("403 X", "X-A: 1", "no", false),
    ("403 X", "X-A: 1", expired + "x", false), ("403 X", "Content-Encoding: gzip", expired, false),
    ("403 X", "WWW-Authenticate: Bearer error=\"insufficient_scope\"", expired, false),
    ("419 X", "WWW-Authenticate: Bearer error=\"insufficient_scope\"", "no", false),
    ("503 X", "X-A: 1", expired, false), ("200 OK", "X-A: 1", expired, false),
  ])
  func `configured statuses and body values mean expiry, and insufficient_scope never does`(
    _ status: String, _ fields: String, _ body: String, _ isMeant: Bool
  ) throws {
    let conversation = try play(status, fields, body: body)
    #expect(conversation.log.contains("renew") == isMeant)
    #expect(conversation.received.isEmpty == isMeant)
    if !isMeant { #expect(conversation.response.hasSuffix(body)) }
  }

  @Test func `a credential other than a bearer token expires with every 401 except insufficient_scope`() throws {
    let any = ExpirySigns(acceptsAnyUnauthorized: true)
    #expect(try play("401 X", "WWW-Authenticate: Basic realm=a", signs: any).log.contains("renew"))
    #expect(try play("401 X", "WWW-Authenticate: ,,=", signs: any).log.contains("renew"))
    let scope = "WWW-Authenticate: Bearer error=insufficient_scope"
    #expect(!(try play("401 X", scope, signs: any).log.contains("renew")))
    #expect(!(try play("403 X", signs: any).log.contains("renew")))
  }

  @Test func `an error body is evaluated when complete, and nothing is passed on before`() throws {
    for (body, isMeant) in [(Self.expired, true), ("{\"error\":{\"code\":\"forbidden\"}}", false)] {
      let response = Array(ok("X-A: 1", status: "403 X", body: body).utf8)
      var conversation = Conversation(try snapshot(replayBuffer: 16, expiry: Self.more))
      conversation.client(get())
      for byte in response.dropLast() {
        conversation.upstream([byte])
        #expect(conversation.received.isEmpty && !conversation.log.contains("renew"))
      }
      conversation.upstream([response[response.count - 1]])
      #expect(conversation.log.contains("renew") == isMeant)
      if isMeant {
        conversation.apply { $0.credentialRenewed(output: &$1) }
        conversation.upstream(ok(body: "new"))
        #expect(conversation.response.hasSuffix("new") && !conversation.response.contains("credentials_expired"))
      } else {
        #expect(status(conversation.response) == "403" && conversation.response.hasSuffix(body))
      }
    }
  }

  @Test func `chunked error bodies are evaluated, and long or incomplete bodies pass unchanged`() throws {
    let chunks = "HTTP/1.1 403 X\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{\"error\"\r\n"
    let rest = "20\r\n:{\"code\":\"credentials_expired\"}}\r\n0\r\n\r\n"
    #expect(exchange(get(), chunks + rest, try snapshot(replayBuffer: 16, expiry: Self.more)).log.contains("renew"))
    let long = "{\"a\":\"\(String(repeating: "x", count: 20_000))\",\"error\":{\"code\":\"credentials_expired\"}}"
    let conversation = try play("403 X", body: long)
    #expect(!conversation.log.contains("renew") && conversation.response.hasSuffix(long))
    // A body that ends with the connection.
    let open = exchange(
      get(), "HTTP/1.1 403 X\r\n\r\n\(Self.expired)", try snapshot(replayBuffer: 16, expiry: Self.more))
    #expect(!open.log.contains("renew") && open.response.contains("credentials_expired"))
    var cut = exchange(
      get(), "HTTP/1.1 403 X\r\nContent-Length: 50\r\n\r\n{", try snapshot(replayBuffer: 16, expiry: Self.more))
    #expect(cut.received.isEmpty)
    cut.upstreamEnded()
    #expect(status(cut.response) == "502")
  }

  @Test func `a response is not buffered if the request cannot be repeated`() throws {
    let body = "POST /api/x HTTP/1.1\r\nHost: localhost:7070\r\nContent-Length: 17\r\n\r\n12345678901234567"
    #expect(status(try play("403 X", body: Self.expired, request: body).response) == "403")
  }

  private static let texts: [(String, Bool)] = [
    ("{\"a\":{\"b\":\"v\"}}", true), (" { \"x\" : [ {} , [] , null , -1.5e+3 ] , \"a\" : { \"b\" : \"v\" } } \n", true),
    ("{\"a\":{\"b\":\"\\u0076\"}}", true), ("{\"\\u0061\":{\"b\":\"v\"}}", true), ("{\"a\":{\"b\":\"V\"}}", false),
    ("{\"a\":{\"b\":[\"v\"]}}", false), ("{\"a\":{\"b\":\"v\",\"b\":\"v\"}}", false), ("{\"a\":{\"b\":\"v\"}", false),
    ("{\"a\":{\"b\":\"v\"}}}", false), ("{\"a.b\":\"v\"}", false), ("[{\"a\":{\"b\":\"v\"}}]", false), ("", false),
    ("{\"a\":{\"b\":\"v\"},}", false), ("{\"a\" \"b\"}", false), ("{\"x\":\"\\\"},\",\"a\":{\"b\":\"v\"}}", true),
    ("{\"x\":\"\u{1}\",\"a\":{\"b\":\"v\"}}", false), ("{\"x\":\"\\u00\",\"a\":{\"b\":\"v\"}}", false),
    (String(repeating: "[", count: 100_000), false), ("{\"x\":\(String(repeating: "[", count: 17))", false),
  ]

  @Test(arguments: texts.indices)
  func `a JSON value is found only at its path, and only in well-formed JSON`(_ index: Int) {
    let (text, isThere) = Self.texts[index]
    #expect(
      JSONField.isPresent(JSONFieldSign(path: ["a", "b"], value: "v"), in: Array(text.utf8)) == isThere,
      "\(text.prefix(80))")
  }

  @Test func `numbers, booleans and array elements of JSON are compared`() {
    func found(_ path: String..., value: String) -> Bool {
      let text = "{\"code\":401,\"ok\":false,\"errors\":[{\"reason\":\"a\"},{\"reason\":\"expired\"}]}"
      return JSONField.isPresent(JSONFieldSign(path: path, value: value), in: Array(text.utf8))
    }
    #expect(
      found("code", value: "401") && found("ok", value: "false") && found("errors", "1", "reason", value: "expired"))
    #expect(!found("errors", "0", "reason", value: "expired") && !found("code", value: "40"))
  }
}
