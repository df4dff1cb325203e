import Gateway
import HTTP1
import Policy
import Testing

/// A cache between the program and bearerd does not see the credential (T37).
@Suite struct CachePrivacyTests {
  private func cacheControl(_ played: Conversation) -> [String] {
    head(played.wholeResponse).filter { $0.lowercased().hasPrefix("cache-control:") }
  }

  @Test(arguments: ["200 OK", "404 Not Found", "500 Failed", "302 Found"], ["GET", "POST", "HEAD"])
  func `T37: a response to a request with a credential is private`(status: String, method: String) throws {
    let response = method == "HEAD" ? ok(status: status).replacing("\r\n\r\nhi", with: "\r\n\r\n") : ok(status: status)
    #expect(cacheControl(exchange(get(method: method), response, try snapshot())) == ["Cache-Control: private"])
  }

  @Test(arguments: [
    (["max-age=60"], ["private, max-age=60"]), ([""], ["private"]), (["no-cache"], ["private, no-cache"]),
    // `private` and `no-store` without field names, `public` and `s-maxage` decide
    (["private"], ["private"]), (["PUBLIC, max-age=9"], ["PUBLIC, max-age=9"]),
    (["max-age=9 , No-Store"], ["max-age=9 , No-Store"]), (["s-maxage=0"], ["s-maxage=0"]),
    (["private=\"X-A, no-store\""], ["private, private=\"X-A, no-store\""]),
    (["x=\"public\""], ["private, x=\"public\""]), (["x=\"a"], ["private, x=\"a"]),
    (["s-maxage"], ["private, s-maxage"]), (["publicly, privates"], ["private, publicly, privates"]),
    (["must-revalidate"], ["private, must-revalidate"]),
    // several fields are one list
    (["max-age=1", "no-transform"], ["max-age=1", "private, no-transform"]),
    (["max-age=1", "public"], ["max-age=1", "public"]), (["no-store", "max-age=1"], ["no-store", "max-age=1"]),
  ])
  func `T37: directives for shared caches are kept, and other directives get private`(
    sent: [String], expected: [String]
  ) throws {
    let fields = sent.map { "Cache-Control: \($0)\r\n" }.joined()
    let response = "HTTP/1.1 200 OK\r\nX-A: 1\r\n\(fields)X-B: 2\r\nContent-Length: 2\r\n\r\nhi"
    let played = exchange(get(), response, try snapshot())
    #expect(cacheControl(played) == expected.map { "Cache-Control: \($0)" })
    #expect(value("X-A", played.response) == "1" && value("X-B", played.response) == "2")
  }

  @Test(arguments: [CredentialChoice.none, .pass])
  func `a response to a request without an added credential is unchanged`(credential: CredentialChoice) throws {
    let response = ok("cache-control: max-age=60", "X-B: 2")
    #expect(exchange(get(), response, try snapshot(credential: credential)).wholeResponse == response)
  }

  @Test func `a response to the client's own credential is unchanged`() throws {
    let edited = try snapshot { $0.headers.onClientHeader = .keep }
    #expect(exchange(get("Authorization: mine"), ok(), edited).wholeResponse == ok())
  }

  @Test func `interim responses are unchanged`() throws {
    let played = exchange(get(), "HTTP/1.1 103 Early Hints\r\nX-A: 1\r\n\r\n" + ok(), try snapshot())
    #expect(head(played.wholeResponse) == ["HTTP/1.1 103 Early Hints", "X-A: 1"])
  }

  @Test func `T37: the field of a long list takes one pass`() throws {
    let list = Array(repeating: "x=\"a,b\"", count: 1_000).joined(separator: ", ")
    #expect(
      cacheControl(exchange(get(), ok("Cache-Control: \(list)"), try snapshot())) == [
        "Cache-Control: private, \(list)"
      ])
  }
}
