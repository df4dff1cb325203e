import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A clock that is set changes what a certificate or a pin is worth now, and nothing else (T57).
@Suite(.waits, .enabled(if: SteppedClock.isPossible)) struct ClocksThatJump {
  static let hour = 3_600

  /// A stage whose authority has been there for long and stays; the intermediate and the leaf are as they are asked for.
  private struct Scene {
    let stage: Stage
    let clock: SteppedClock

    init(
      ends: Int = 240 * hour, began: Int = -240 * hour, isLeaf: Bool = true, service: String = "",
      credential: String = "bearer: { file: canary.token }", options: UpstreamServer.Options = .init(),
      handler: (@Sendable (UpstreamConnection) -> Void)? = nil
    ) throws {
      stage = try Stage(options: options, handler: handler)
      let authority = try Self.certificate(-240 * hour, 240 * hour) { $0.isCA = true }
      let intermediate = try Self.certificate(
        isLeaf ? -240 * hour : began, isLeaf ? 240 * hour : ends, issuer: authority
      ) { $0.isCA = true }
      let leaf = try Self.certificate(
        isLeaf ? began : -240 * hour, isLeaf ? ends : 240 * hour, issuer: intermediate, reusing: stage.leaf
      ) { $0.dnsNames = ["localhost"] }
      try stage.upstream.replaceCertificates([leaf, intermediate])
      try stage.scratch.write("ca.pem", authority.pem)
      clock = try SteppedClock(stage.scratch)
      try clock.start(stage, stage.configuration(service: service, credential: credential))
    }

    private static func certificate(
      _ notBefore: Int, _ notAfter: Int, issuer: Certificate? = nil, reusing: Certificate? = nil,
      change: (inout Certificate.Options) -> Void
    ) throws -> Certificate {
      var options = Certificate.Options()
      (options.notBefore, options.notAfter) = (notBefore, notAfter)
      options.commonName = "\(UInt64.random(in: 0 ... .max))"
      change(&options)
      return try Certificate(options, issuer: issuer, reusingKeyOf: reusing)
    }

    /// The next request finds a refusal of this code, and the upstream a handshake and no byte.
    func refuses(_ code: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
      let before = stage.upstream.records.count
      let answer = try stage.get()
      #expect(answer.status == 502, sourceLocation: sourceLocation)
      #expect(answer.text.contains("urn:bearerd:error:\(code)\""), "\(answer.text)", sourceLocation: sourceLocation)
      #expect(stage.upstream.wait { $0.count > before && $0[before].isFinished }, sourceLocation: sourceLocation)
      let records = stage.upstream.records
      try #require(records.count == before + 1, sourceLocation: sourceLocation)
      #expect(records[before].bytes.isEmpty && !records[before].isResumed, sourceLocation: sourceLocation)
    }
  }

  struct Step: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let seconds: Int
    var ends = 240 * hour
    var began = -240 * hour
    var isLeaf = true
    /// From now.
    var pinsExpire: Int?
    var code = "certificate-expired"

    var service: String {
      pinsExpire.map { "pins_expire: \(Date(timeIntervalSinceNow: Double($0)).ISO8601Format())" } ?? ""
    }
  }

  static let steps = [
    Step(testDescription: "past the end of the certificate", seconds: hour, ends: hour / 2),
    Step(testDescription: "before its beginning", seconds: -hour, began: -hour / 2),
    Step(testDescription: "past the end of the intermediate", seconds: hour, ends: hour / 2, isLeaf: false),
    Step(testDescription: "before its beginning, too", seconds: -hour, began: -hour / 2, isLeaf: false),
    Step(testDescription: "past pins_expire", seconds: hour, pinsExpire: hour / 2, code: "pins-expired"),
  ]

  @Test(arguments: steps)
  func `T57: a connection that is kept carries nothing once the clock has left what was proved for it`(step: Step)
    throws
  {
    let scene = try Scene(ends: step.ends, began: step.began, isLeaf: step.isLeaf, service: step.service)
    #expect(try scene.stage.get().status == 200)
    #expect(try scene.stage.get().status == 200)
    #expect(scene.stage.upstream.records.count == 1)
    try scene.clock.step(step.seconds)
    try scene.refuses(step.code)
    #expect(scene.stage.log.wait(for: .clockStepped, ["seconds": "\(step.seconds)"]))
    #expect(scene.stage.upstream.wait { $0[0].isFinished })
    try scene.clock.step(0)
    #expect(try scene.stage.get().status == 200)
    scene.stage.assertCanary(times: 3)
  }

  @Test(arguments: steps, [0x0303, 0x0304] as [Int32])
  func `T57: nor is a session resumed`(step: Step, version: Int32) throws {
    var options = UpstreamServer.Options()
    options.tlsVersion = version
    let scene = try Scene(
      ends: step.ends, began: step.began, isLeaf: step.isLeaf, service: step.service, options: options,
      handler: ResumedSessionsAreJudged.oneEach)
    for _ in 0..<2 { #expect(try scene.stage.get().status == 200) }
    #expect(scene.stage.upstream.records.map(\.isResumed) == [false, true])
    try scene.clock.step(step.seconds)
    try scene.refuses(step.code)
    try scene.clock.step(0)
    #expect(try scene.stage.get().status == 200)
    scene.stage.assertCanary(times: 3)
  }

  @Test func `T57: an ordinary certificate notices no step: connections, requests and deadlines stay`() throws {
    let (asked, goOn) = (Gate(), Gate())
    let scene = try Scene { connection in
      while let (head, _) = connection.head() {
        if head.contains("/slow") {
          asked.open()
          goOn.pass()
        }
        connection.answer("\(connection.number)")
      }
    }
    let client = try scene.stage.raw()
    for seconds in [0, Self.hour, 0, -Self.hour, 0] {
      try scene.clock.step(seconds)
      try client.send(scene.stage.head("GET"))
      #expect(try client.answer().body == "0")
      // And one while an answer is waited for.
      try client.send(scene.stage.head("GET", "/api/slow"))
      #expect(asked.pass())
      try scene.clock.step(-seconds)
      goOn.open()
      #expect(try client.answer().body == "0")
    }
    #expect(scene.stage.upstream.records.count == 1)
    #expect(scene.stage.log.lines(of: .clockStepped).count > 3)
    scene.stage.assertCanary(times: 10)
  }

  @Test(arguments: [0x0303, 0x0304] as [Int32])
  func `T57: and sessions are resumed an hour later by the clock alone`(version: Int32) throws {
    var options = UpstreamServer.Options()
    options.tlsVersion = version
    let scene = try Scene(options: options, handler: ResumedSessionsAreJudged.oneEach)
    for seconds in [0, 0, Self.hour, 0, -Self.hour] {
      try scene.clock.step(seconds)
      #expect(try scene.stage.get().status == 200)
    }
    #expect(scene.stage.upstream.records.map(\.isResumed).prefix(3) == [false, true, true])
    scene.stage.assertCanary(times: 5)
  }

  /// Its secret went out before. To end it is the upstream's right, or a reload's.
  @Test func `T57: a WebSocket lives on, and what is asked beside it is judged`() throws {
    let scene = try Scene(ends: Self.hour / 2, handler: Stage.echoing())
    let socket = try scene.stage.upgraded()
    try scene.clock.step(Self.hour)
    #expect(try scene.stage.echoes(socket))
    try scene.refuses("certificate-expired")
    #expect(try scene.stage.echoes(socket))
    scene.stage.assertCanary(times: 1)
  }

  @Test func `T57: a value that a command has printed grows no older by a step`() throws {
    let scratch = try Scratch()
    let runs = scratch.path + "/runs"
    let helper = try scratch.write(
      "helper", "#!/bin/sh\necho run >> \(runs)\necho COMMANDED-secret\n", mode: 0o700)
    let scene = try Scene(credential: "bearer: { command: [\(helper)], ttl: 30m }")
    for seconds in [0, Self.hour, -Self.hour] {
      try scene.clock.step(seconds)
      #expect(try scene.stage.get().status == 200)
    }
    #expect(try String(contentsOfFile: runs, encoding: .utf8) == "run\n")
    scene.stage.assertCanary(times: 3, secret: "COMMANDED-secret")
  }
}
