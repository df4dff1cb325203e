import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

/// A secret that a person has placed, a program gives, or a grant without a login makes: it is not used any more until something
/// changes, and what it is made of stays (T46).
@Suite(.waits) struct LogoutsOfWhatIsNoLogin {
  private static let control = "control: control.sock\n"

  @Test(arguments: [1, 3])
  func `T46: a file's value, until the file holds another one`(workers: Int) throws {
    let stage = try Stage()
    try stage.start(
      try stage.second(in: stage.configuration(more: Self.control + "workers: \(workers)\n")))
    let clients = try (0..<6).map { _ in try stage.client() }
    func ask(_ path: String = "/api/x") throws -> [LocalClient.Response] {
      for client in clients { try client.send(stage.head("GET", path)) }
      return try clients.map { try $0.response() }
    }
    #expect(try ask().allSatisfy { $0.status == 200 })
    let report = try stage.logOut()
    #expect(report["login"] as? Bool == false && report.cut["idle"] ?? 0 > 0 && report["revoked"] == nil)
    #expect(try ask().allSatisfy { $0.isRefused("login-required") })
    // The same value once more is the same value.
    try stage.scratch.write("canary.token", stage.canary)
    for _ in 0..<3 { #expect(try ask().allSatisfy { $0.isRefused("login-required") }) }
    #expect(try ask("/second/x").allSatisfy { $0.status == 200 })
    try stage.scratch.write("canary.token", "CANARY-another\n")
    let good = eventually { (try? ask())?.allSatisfy { $0.status == 200 } ?? false }
    #expect(good)
    stage.assertCanary(times: 6)
  }

  @Test func `T46: no TLS session of before is resumed afterwards`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(more: Self.control))
    #expect(try stage.get().status == 200)
    #expect(try stage.logOut().cut["resumable"] ?? 0 > 0)
    try stage.scratch.write("canary.token", "CANARY-another\n")
    let good = eventually { (try? stage.get().status) == 200 }
    #expect(good)
    #expect(stage.upstream.records.map(\.isResumed) == [false, false])
    stage.assertCanary(times: 1)
  }

  @Test func `T46: a file's value, until a reload`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(more: Self.control))
    #expect(try stage.get().status == 200)
    try stage.logOut()
    #expect(try stage.get().isRefused("login-required"))
    if isRoot, !isSanitized {
      let pid = stage.daemon!.pid
      #expect(try ForeignMemory.places(of: stage.canary, in: pid, isEverywhere: true) == [])
    }
    try stage.reload(stage.configuration(more: Self.control))
    #expect(try stage.get().status == 200)
    stage.assertCanary(times: 2)
  }

  /// Each run may print another one, which says nothing of what people want.
  @Test(arguments: [1, 2])
  func `T46: a program's value, until a reload; until then it does not run`(workers: Int) throws {
    let scratch = try Scratch()
    let stage = try Stage()
    let helper = try scratch.write(
      "helper", "#!/bin/sh\necho run >> \(scratch.path)/$1\necho \"$2\"\n", mode: 0o700)
    let text = try stage.second(
      in: stage.configuration(
        credential: "bearer: { command: [\(helper), runs, \(stage.canary)], ttl: 1s }",
        more: Self.control + "workers: \(workers)\n")
    ).replacing("file: second.token", with: "command: [\(helper), others, \(Stage.secondSecret)], ttl: 1s")
    func runs(_ name: String = "runs") -> Int {
      let text = (try? String(contentsOfFile: scratch.path + "/" + name, encoding: .utf8)) ?? ""
      return text.components(separatedBy: "run\n").count - 1
    }
    try stage.start(text)
    #expect(try stage.get().status == 200)
    #expect(eventually { runs() > 1 }, "it runs ahead of each end")
    try stage.logOut()
    #expect(try stage.get().isRefused("login-required"))
    // One may have been under way.
    let (before, others) = (runs(), runs("others"))
    #expect(eventually { runs("others") > others + 2 })
    #expect(runs() <= before + 1)
    #expect(try stage.get().isRefused("login-required"))
    try stage.reload(text)
    let good = eventually { (try? stage.get().status) == 200 }
    #expect(good)
    stage.assertCanary(times: 2)
  }

  @Test func `T46: a grant without a login: its token is given back, and no other one is asked for until a reload`()
    throws
  {
    let stage = try TokenStage()
    stage.revokes()
    try stage.start(more: stage.revocation)
    #expect(try stage.stage.get().status == 200)
    let report = try stage.stage.logOut()
    #expect(report["login"] as? Bool == false)
    #expect(report.revoked == [["access_token", ""]])
    #expect(stage.givenBack == [["access_token", stage.stage.canary]])
    for _ in 0..<3 { #expect(try stage.stage.get().isRefused("login-required")) }
    #expect(stage.tokens.requests.count == 2)
    try stage.stage.reload(stage.configuration(more: stage.revocation))
    #expect(try stage.stage.get().status == 200)
    #expect(stage.tokens.requests.count == 3)
    // Another secret of the client is another beginning, too.
    try stage.stage.logOut()
    try stage.stage.scratch.write("client.secret", "ANOTHER-secret")
    let good = try stage.ask(until: { $0.status == 200 }) { #expect($0.status == 503) }
    #expect(good != nil)
    stage.assertSecrets(times: 3)
  }

  @Test func `nobody has such a credential`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(more: Self.control))
    #expect(try stage.control("logout canari").contains("did you mean \"canary\"?"))
    #expect(try stage.get().status == 200)
    stage.assertCanary(times: 1)
  }
}
