import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

/// A secret that an API wants in the query: put there once, and shown nowhere (T13).
@Suite(.waits) struct KeysInTheQuery {
  private static let line = "query: { name: api_key, value: { file: canary.token } }"

  @Test(arguments: [
    ("/api/x", "/base/x?"), ("/api/x?a=1", "/base/x?a=1&"), ("/api/x?api_key=mine", "/base/x?"),
    ("/api/x?a=1&api_key=mine;b=2&API%5FKEY=mine", "/base/x?a=1;b=2&"), ("/api/x?%61pi.key[]=mine&a", "/base/x?a&"),
  ])
  func `T13: it is put into the target once, and the program's own are not`(_ path: String, _ start: String) throws {
    let stage = try Stage()
    try stage.start(
      stage.configuration(credential: Self.line, more: "audit: { file: audit.log }\ncontrol: control.sock"))
    #expect(try stage.get(path).status == 200)
    stage.assertCanary(times: 1, as: "GET \(start)api_key=\(stage.canary) HTTP/1.1\r\n")
    #expect(!stage.recorded.contains("mine") && !stage.recorded.contains("Authorization"))
    #expect(stage.log.hides("api_key"))
  }

  /// A name that means nothing to anybody else.
  @Test func `T13: the program's own parameter of that name does not go beside it, whatever the name is`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(credential: Self.line.replacing("api_key", with: "whose")))
    #expect(try stage.get("/api/x?a=1&whose=mine&WHOSE=mine&who%73e=mine&whoseelse=b").status == 200)
    stage.assertCanary(times: 1, as: "GET /base/x?a=1&whoseelse=b&whose=\(stage.canary) HTTP/1.1\r\n")
  }

  @Test func `T13 T33: what an upstream repeats of its target is masked in all places that name one`() throws {
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
    // Escaped by us, and so by whoever repeats it.
    try stage.scratch.write("canary.token", stage.canary + "+/=&%\n")
    try stage.start(stage.configuration(credential: Self.line))
    let answer = try stage.get("/api/x?a=1")
    #expect(answer.status == 302)
    for field in ["Location", "Content-Location", "Link", "Refresh"] {
      let value = try #require(answer.values(field).first)
      #expect(value.contains("/api/x?a=1&api_key=***") && !value.contains("CANARY"), "\(field): \(value)")
    }
    stage.assertCanary(
      times: 1, as: "GET /base/x?a=1&api_key=\(stage.canary)%2B%2F%3D%26%25 HTTP/1.1\r\n")
  }

  @Test func `T13: explain shows a mask in the target, and check says what it is`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(credential: Self.line))
    let said = try run([
      RunningDaemon.binary("bearerctl"), "explain", "GET", "/api/x?a=1&api_key=mine", "--config", stage.daemon!.file,
    ]).output
    #expect(said.contains("\(stage.origin)/base/x?a=1&api_key=••••"))
    #expect(said.contains("api_key (query parameter)") && !said.contains("mine&") && !said.contains(stage.canary))
  }

  @Test func `T13: a target that the limit has room for has room for the key, too`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(credential: Self.line))
    let long = String(repeating: "l", count: 16_000)
    #expect(try stage.get("/api/\(long)").status == 200)
    stage.assertCanary(times: 1, as: "/\(long)?api_key=\(stage.canary) HTTP/1.1\r\n")
  }
}
