import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

/// A secret in the query is sent exactly once, and is not shown in responses or the log (T13).
@Suite(.inProcess) struct QueryCredentialTests {
  private static let line = "query: { name: api_key, value: { file: canary.token } }"

  @Test(arguments: [
    ("/api/x", "/base/x?"), ("/api/x?a=1", "/base/x?a=1&"), ("/api/x?api_key=mine", "/base/x?"),
    ("/api/x?a=1&api_key=mine;b=2&API%5FKEY=mine", "/base/x?a=1;b=2&"), ("/api/x?%61pi.key[]=mine&a", "/base/x?a&"),
  ])
  func `T13: the secret is added to the target once, and the program's own values are removed`(
    _ path: String, _ start: String
  ) throws {
    let stage = try Stage()
    try stage.start(
      stage.configuration(credential: Self.line, more: "audit: { file: audit.log }\ncontrol: control.sock"))
    #expect(try stage.get(path).status == 200)
    stage.assertCanary(times: 1, as: "GET \(start)api_key=\(stage.canary) HTTP/1.1\r\n")
    #expect(!stage.recorded.contains("mine") && !stage.recorded.contains("Authorization"))
    #expect(stage.log.hides("api_key"))
  }

  @Test func `T13: the program's own query parameter is removed, even if its name is not a known one for keys`() throws
  {
    let stage = try Stage()
    try stage.start(stage.configuration(credential: Self.line.replacing("api_key", with: "whose")))
    #expect(try stage.get("/api/x?a=1&whose=mine&WHOSE=mine&who%73e=mine&whoseelse=b").status == 200)
    stage.assertCanary(times: 1, as: "GET /base/x?a=1&whoseelse=b&whose=\(stage.canary) HTTP/1.1\r\n")
  }

  @Test func `T13 T33: the secret is masked in all response fields that repeat the target`() throws {
    let stage = try Stage { connection in
      while let request = try? connection.readRequest() {
        let target = String(request.text.split(separator: " ")[1])
        let escaped = target.utf8.map { "%" + String($0, radix: 16, uppercase: true) }.joined()
        try? connection.write(
          Array(
            ("HTTP/1.1 302 Found\r\nLocation: \(target)\r\nContent-Location: \(target)\r\n"
              + "Link: <\(target)>; rel=next\r\nRefresh: 5; url=\(target)\r\nX-Escaped: \(escaped)\r\n"
              + "Content-Length: 0\r\n\r\n").utf8))
      }
    }
    // bearerd escapes these characters, so the upstream repeats them escaped.
    try stage.scratch.write("canary.token", stage.canary + "+/=&%\n")
    try stage.start(stage.configuration(credential: Self.line))
    let response = try stage.get("/api/x?a=1")
    #expect(response.status == 302)
    for field in ["Location", "Content-Location", "Link", "Refresh"] {
      let value = try #require(response.values(field).first)
      #expect(value.contains("/api/x?a=1&api_key=***") && !value.contains("CANARY"), "\(field): \(value)")
    }
    stage.assertCanary(
      times: 1, as: "GET /base/x?a=1&api_key=\(stage.canary)%2B%2F%3D%26%25 HTTP/1.1\r\n")
  }

  @Test func `T13: the secret does not count for the limit of the target's length`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(credential: Self.line))
    let long = String(repeating: "l", count: 16_000)
    #expect(try stage.get("/api/\(long)").status == 200)
    stage.assertCanary(times: 1, as: "/\(long)?api_key=\(stage.canary) HTTP/1.1\r\n")
  }
}
