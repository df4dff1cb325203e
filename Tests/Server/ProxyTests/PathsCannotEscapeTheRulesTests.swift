import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

/// Every possible reading of a path by an upstream has to be allowed by the rules (T12).
@Suite(.inProcess) struct PathsCannotEscapeTheRules {
  private func status(_ stage: Stage, _ target: String, _ fields: String = "") throws -> Int {
    let client = try stage.client()
    try client.send("GET \(target) HTTP/1.1\r\nHost: localhost:\(try stage.daemon!.port())\r\n\(fields)\r\n")
    return try client.response().status
  }

  /// Paths close to these rules, in addition to the general table.
  static let tricks: [String] = [
    "/api/public//../admin", "/api//public/../admin", "//api/public/../../admin", "/api/./public/x",
    "/api/x/../public/x", "/api/admin/../public/x", "/api/admin/..%2fpublic/x", "/api/admin%2f..%2fpublic/x",
    "/api%2fpublic%2fx", "/api%2Fadmin", "/api/public%2f..%2fadmin", "/api/public%2fx", "/api/public%252fx",
    "/api/public#/../admin", "/api/things/1", "/api/things/1/parts/2", "/api/things/a%2fb/parts", "/api/things//parts",
    "/api/things/%2e%2e/parts", "/api/things/1/parts;x", "/api/things;x/1/parts", "/api/Public/x", "/api/publicx",
    "/api/public", "/api/%70ublic/%78", "/api/public/a;b=c/d", "/api/public//x", "/api//admin", "/api/admin//public/x",
    "/api", "/", "/apix/public/x", "/api/", "/api?x=/public/x", "/api/admin?/public/x", "/api/public/x?/../admin",
  ]

  @Test func `T12: a path is refused unless the rules allow every reading of the path`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(service: GuardedPaths.rules))
    var accepted: [String] = []
    for target in Self.tricks {
      let before = stage.upstream.records.map(\.bytes.count).reduce(0, +)
      let status = try status(stage, target)
      if status == 200 {
        accepted.append(target)
      } else {
        #expect([400, 403, 404, 421].contains(status), "\(target) → \(status)")
        #expect(stage.upstream.records.map(\.bytes.count).reduce(0, +) == before, "\(target) was refused and sent")
      }
    }
    let lines = stage.recorded.components(separatedBy: "\r\n").filter { $0.hasSuffix(" HTTP/1.1") }
    #expect(lines.count == accepted.count)
    for (target, line) in zip(accepted, lines) {
      let sent = String(line.split(separator: " ")[1])
      let escape = GuardedPaths.escape(of: sent)
      #expect(escape == nil, "\(target) went out as \(sent), which can be read as \(escape ?? "")")
    }
    // The test accepts some paths, not only refusals.
    for target in ["/api/%70ublic/%78", "/api/public/a;b=c/d", "/api/public/x?/../admin"] {
      #expect(accepted.contains(target), "\(target)")
    }
    #expect(stage.recorded.contains("GET /base/public/x HTTP/1.1\r\n"), "decoded once, and sent as it was matched")
    let total = stage.recorded.components(separatedBy: stage.canary).count - 1
    stage.assertCanary(times: total)
  }

  @Test func `T63: a deny rule matches upper and lower case`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(service: GuardedPaths.rules))
    for path in [
      "acme/secret/x", "ACME/secret/x", "acme/%53ecret/x", "Acme/SECRET/./x", "aCME//secret/x", "acme/Secret%2Fx",
    ] {
      #expect([400, 403].contains(try status(stage, "/api/repos/\(path)")), "\(path)")
    }
    #expect(try status(stage, "/api/exact/Secret") == 403)
    #expect(stage.recorded.isEmpty)
    #expect(try status(stage, "/api/repos/acme/secrets") == 200)
    #expect(try status(stage, "/api/exact/secret") == 200)
    stage.assertCanary(times: 2)
  }

  @Test func `T12: single dots are removed from paths`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(service: GuardedPaths.rules))
    for path in ["/api/public/./Packages", "/./api/public/x/.", "/api/./public/./y?z=/./"] {
      #expect(try status(stage, path) == 200, "\(path)")
    }
    let lines = stage.recorded.components(separatedBy: "\r\n").filter { $0.hasSuffix(" HTTP/1.1") }
    #expect(
      lines == ["/base/public/Packages", "/base/public/x/", "/base/public/y?z=/./"].map { "GET \($0) HTTP/1.1" })
    #expect(try status(stage, "/api/public/./../admin") == 400)
    #expect(try status(stage, "/api/./admin") == 403)
    stage.assertCanary(times: 3)
  }

  @Test func `T12: the decoded path is matched and sent`() throws {
    let stage = try Stage()
    try stage.start(
      stage.configuration(service: "rules: [{ match: /admin, deny: true, case: exact }, { match: \"/**\" }]"))
    for target in ["/api/admin", "/api/%61dmin", "/api/%61%64%6d%69%6e", "/api/admin?x", "/api/%61dmin?y=z"] {
      #expect(try status(stage, target) == 403, "\(target)")
    }
    // Paths with another reading that the rules decide differently are refused.
    for target in ["/api//admin", "/api/admin;x", "/api/%2561dmin", "/api/%2fadmin", "/api/.%2fadmin"] {
      #expect([400, 403].contains(try status(stage, target)), "\(target)")
    }
    #expect(try status(stage, "/api/Admin") == 200)
    #expect(!stage.recorded.contains("/admin") && stage.recorded.contains("GET /base/Admin "))
    stage.assertCanary(times: 1)
  }

  @Test func `T19: the first matching rule decides, and an unmatched path gets 403`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(service: GuardedPaths.rules))
    let own = "Authorization: Bearer MINE\r\n"
    let rows: [(String, Int, Int)] = [
      ("/api/public/x", 200, 1), ("/api/plain/x", 200, 0), ("/api/plain/x/y", 403, 0), ("/api/own/x", 200, 0),
      ("/api/things/1/parts", 200, 1), ("/api/things/1", 403, 0), ("/api/nothing", 403, 0), ("/elsewhere/x", 404, 0),
    ]
    var times = 0
    for (target, wanted, canaries) in rows {
      #expect(try status(stage, target, own) == wanted, "\(target)")
      times += canaries
    }
    // `pass` forwards the program's field. `none` and an injected credential remove it.
    #expect(stage.recorded.components(separatedBy: "Bearer MINE").count == 2)
    stage.assertCanary(times: times)
  }
}
